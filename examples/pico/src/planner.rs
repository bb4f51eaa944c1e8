//! Conversion of moves in millimetres to motor steps. Arcs are cut into lines.

use heapless::Deque;
use libm::{atan2f, ceilf, cosf, fabsf, roundf, sinf, sqrtf};

pub const AXES: usize = 3;
const STEPS_A_MM: [f32; AXES] = [80.0, 80.0, 400.0];
const LARGEST_MM_A_SECOND: [f32; AXES] = [150.0, 150.0, 10.0];
const ACCELERATION: f32 = 1200.0;
/// The greatest distance between a line and the arc that it is cut from, in mm.
const CHORD_ERROR: f32 = 0.02;
/// The distance by which a corner may be cut, in mm. It limits the speed there.
const JUNCTION: f32 = 0.02;
pub const SEGMENTS: usize = 16;

/// A straight move, whose steps the interrupt makes.
#[derive(Clone, Copy, Default)]
pub struct Segment {
    pub steps: [u32; AXES],
    pub forward: [bool; AXES],
    /// Steps of the axis with the most steps.
    pub total: u32,
    /// Rates at the start, in the middle and at the end, in steps a second.
    pub entry_rate: u32,
    pub cruise_rate: u32,
    pub exit_rate: u32,
    /// Twice the acceleration, in steps a second squared.
    pub twice_acceleration: u32,
}

/// The position, direction and speed at the end of the last move.
#[derive(Default)]
pub struct Planner {
    pub position: [f32; AXES],
    at_steps: [i32; AXES],
    direction: [f32; AXES],
    speed: f32,
    pub feed: f32,
}

impl Planner {
    /// Plans a straight move to `to`. `None` if it is too short for a step.
    pub fn line(&mut self, to: [f32; AXES]) -> Option<Segment> {
        let mut way = [0.0; AXES];
        let mut segment = Segment::default();
        for axis in 0..AXES {
            way[axis] = to[axis] - self.position[axis];
            let steps = roundf(to[axis] * STEPS_A_MM[axis]) as i32;
            let change = steps - self.at_steps[axis];
            self.at_steps[axis] = steps;
            segment.steps[axis] = change.unsigned_abs();
            segment.forward[axis] = change >= 0;
        }
        self.position = to;
        segment.total = *segment.steps.iter().max()?;
        let length = sqrtf(way.iter().map(|w| w * w).sum());
        if segment.total == 0 || length == 0.0 {
            return None;
        }
        let direction = way.map(|w| w / length);
        let mut cruise = if self.feed > 0.0 { self.feed / 60.0 } else { 20.0 };
        for axis in 0..AXES {
            let part = fabsf(direction[axis]);
            if part * cruise > LARGEST_MM_A_SECOND[axis] {
                cruise = LARGEST_MM_A_SECOND[axis] / part;
            }
        }
        // The speed on a circle that touches both lines, JUNCTION away from the corner.
        let cosine: f32 = -(0..AXES).map(|a| direction[a] * self.direction[a]).sum::<f32>();
        let corner = if cosine < -0.999 {
            cruise
        } else {
            let sine = sqrtf(0.5 * (1.0 - cosine));
            sqrtf(ACCELERATION * JUNCTION * sine / (1.001 - sine))
        };
        let entry = corner.min(self.speed).min(cruise);
        let reach = sqrtf(entry * entry + 2.0 * ACCELERATION * length);
        let exit = reach.min(cruise);
        let scale = segment.total as f32 / length;
        segment.entry_rate = (entry * scale) as u32;
        segment.cruise_rate = (cruise * scale) as u32;
        segment.exit_rate = (exit * scale) as u32;
        segment.twice_acceleration = (2.0 * ACCELERATION * scale) as u32;
        self.direction = direction;
        self.speed = exit;
        Some(segment)
    }

    /// Cuts an arc into lines, and passes each to `segment`.
    pub fn arc(
        &mut self,
        to: [f32; AXES],
        i: f32,
        j: f32,
        clockwise: bool,
        mut segment: impl FnMut(Segment),
    ) {
        let centre = [self.position[0] + i, self.position[1] + j];
        let radius = sqrtf(i * i + j * j);
        let start = atan2f(-j, -i);
        let end = atan2f(to[1] - centre[1], to[0] - centre[0]);
        let mut angle = end - start;
        let turn = 2.0 * core::f32::consts::PI;
        if clockwise && angle >= -1e-6 {
            angle -= turn;
        } else if !clockwise && angle <= 1e-6 {
            angle += turn;
        }
        let chord = 2.0 * sqrtf(CHORD_ERROR * (2.0 * radius - CHORD_ERROR).max(CHORD_ERROR));
        let pieces = ceilf(fabsf(angle) * radius / chord).max(1.0) as u32;
        let from_z = self.position[2];
        for piece in 1..=pieces {
            let part = piece as f32 / pieces as f32;
            let at = start + angle * part;
            let point = if piece == pieces {
                to
            } else {
                let z = from_z + (to[2] - from_z) * part;
                [centre[0] + radius * cosf(at), centre[1] + radius * sinf(at), z]
            };
            if let Some(line) = self.line(point) {
                segment(line);
            }
        }
    }

    /// Stops: the next move starts with speed 0.
    pub fn halt(&mut self) {
        self.speed = 0.0;
    }
}

/// Makes the steps of the queued moves, one in each interrupt.
#[derive(Default)]
pub struct Stepper {
    queue: Deque<Segment, SEGMENTS>,
    now: Segment,
    errors: [u32; AXES],
    left: u32,
    rate: u32,
    pub made: [i32; AXES],
}

impl Stepper {
    pub fn is_full(&self) -> bool {
        self.queue.is_full()
    }

    pub fn is_idle(&self) -> bool {
        self.left == 0 && self.queue.is_empty()
    }

    pub fn push(&mut self, segment: Segment) {
        // The caller has checked that the queue is not full.
        let _ = self.queue.push_back(segment);
    }

    /// Returns the axes that step now, by bit, and the µs until the next step.
    pub fn step(&mut self) -> (u32, u32) {
        if self.left == 0 {
            let Some(next) = self.queue.pop_front() else {
                return (0, 200);
            };
            self.now = next;
            self.left = next.total;
            self.errors = [next.total / 2; AXES];
            self.rate = next.entry_rate.max(200);
        }
        let mut bits = 0;
        for axis in 0..AXES {
            self.errors[axis] += self.now.steps[axis];
            if self.errors[axis] >= self.now.total {
                self.errors[axis] -= self.now.total;
                bits |= 1 << axis;
                self.made[axis] += if self.now.forward[axis] { 1 } else { -1 };
            }
        }
        self.left -= 1;
        // v² changes by 2a in each step.
        let change = self.now.twice_acceleration / (2 * self.rate).max(1);
        self.rate = if self.rate < self.now.cruise_rate {
            (self.rate + change).min(self.now.cruise_rate)
        } else {
            self.rate.saturating_sub(change).max(self.now.cruise_rate)
        }
        .max(200);
        (bits, 1_000_000 / self.rate)
    }
}
