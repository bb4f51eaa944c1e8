//! Parser of G-code, whose lines consist of words of a letter and a number.

/// The command of a line.
pub enum Command {
    Nothing,
    /// G0, G1: a straight move.
    Line,
    /// G2, G3: a move on a circle, whose centre is given relative to the position.
    Arc {
        clockwise: bool,
    },
    /// G28: a move to the origin.
    Home,
    /// M104: set the heater's target, in °C.
    Heat(f32),
    /// M105: report the temperature.
    Temperature,
    /// M114: report the position.
    Position,
    /// M2: end the program.
    End,
    Unknown,
}

/// The numbers of a line: lengths in mm, `feed` in mm per minute.
#[derive(Default)]
pub struct Words {
    pub x: Option<f32>,
    pub y: Option<f32>,
    pub z: Option<f32>,
    pub i: f32,
    pub j: f32,
    pub feed: Option<f32>,
}

/// Parses a line. `None` if a word is malformed.
pub fn parse(line: &str) -> Option<(Command, Words)> {
    let line = line.split(';').next().unwrap_or("").trim();
    let mut words = Words::default();
    let mut command = Command::Nothing;
    for word in line.split_ascii_whitespace() {
        let (letter, number) = word.split_at_checked(1)?;
        let value: f32 = number.parse().ok()?;
        match letter {
            "G" => {
                command = match value as u32 {
                    0 | 1 => Command::Line,
                    2 => Command::Arc { clockwise: true },
                    3 => Command::Arc { clockwise: false },
                    28 => Command::Home,
                    _ => Command::Unknown,
                };
            }
            "M" => {
                command = match value as u32 {
                    2 => Command::End,
                    104 => Command::Heat(0.0),
                    105 => Command::Temperature,
                    114 => Command::Position,
                    _ => Command::Unknown,
                };
            }
            "S" => command = Command::Heat(value),
            "X" => words.x = Some(value),
            "Y" => words.y = Some(value),
            "Z" => words.z = Some(value),
            "I" => words.i = value,
            "J" => words.j = value,
            "F" => words.feed = Some(value),
            _ => return None,
        }
    }
    Some((command, words))
}
