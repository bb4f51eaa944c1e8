//! A heated bed: a thermistor with its table, a controller, and a simulation of the bed itself.

/// Values of a converter of 12 bits every 10 °C, from 0 °C on. It measures a thermistor of 100 kΩ
/// (B = 3950) in series with 4.7 kΩ.
const TABLE: [u16; 16] = [
    4037, 3999, 3944, 3867, 3764, 3630, 3462, 3260, 3026, 2766, 2490, 2207, 1930, 1667, 1425, 1208,
];

const ROOM_CELSIUS: f32 = 21.0;

#[derive(Default)]
pub struct Heater {
    pub target: f32,
    pub celsius: f32,
    bed: f32,
    integral: f32,
    before: f32,
    noise: u32,
}

impl Heater {
    pub fn new() -> Self {
        Self { celsius: ROOM_CELSIUS, bed: ROOM_CELSIUS, before: ROOM_CELSIUS, ..Self::default() }
    }

    /// Reads the thermistor, controls the heater, and simulates 10 ms of the bed.
    pub fn step(&mut self) {
        self.noise = self.noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let ripple = ((self.noise >> 28) as f32 - 7.5) / 4.0;
        let converted = (value_at(self.bed) + ripple) as u16;
        self.celsius += 0.2 * (celsius_of(converted) - self.celsius);
        let error = self.target - self.celsius;
        self.integral = (self.integral + 0.001 * error).clamp(0.0, 0.6);
        let change = self.celsius - self.before;
        self.before = self.celsius;
        let power = (0.05 * error + self.integral - 0.4 * change).clamp(0.0, 1.0);
        self.bed += 0.02 * power * 8.0 - 0.0008 * (self.bed - ROOM_CELSIUS);
    }
}

/// Returns the converter's value at a temperature.
fn value_at(celsius: f32) -> f32 {
    let place = (celsius / 10.0).clamp(0.0, 14.9);
    let row = place as usize;
    let below = TABLE[row] as f32;
    below + (TABLE[row + 1] as f32 - below) * (place - row as f32)
}

/// Returns the temperature at which the converter has this value.
fn celsius_of(value: u16) -> f32 {
    let row = TABLE.iter().rposition(|&entry| entry >= value).unwrap_or(0).min(14);
    let (above, below) = (TABLE[row] as f32, TABLE[row + 1] as f32);
    10.0 * (row as f32 + (above - value as f32) / (above - below))
}
