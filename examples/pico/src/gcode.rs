//! Lines of G-code: words of a letter and a number.

/// What a line asks for.
pub enum Command {
    Nothing,
    /// G0, G1: straight to there.
    Line,
    /// G2, G3: on a circle about a centre that is given relative to here.
    Arc {
        clockwise: bool,
    },
    /// G28: to the origin.
    Home,
    /// M104: what the heater is to hold, in °C.
    Heat(f32),
    /// M105: say how warm it is.
    Temperature,
    /// M114: say where it is.
    Position,
    /// M2: all is done.
    End,
    Unknown,
}

/// A line, taken apart: millimetres, and millimetres a minute.
#[derive(Default)]
pub struct Words {
    pub x: Option<f32>,
    pub y: Option<f32>,
    pub z: Option<f32>,
    pub i: f32,
    pub j: f32,
    pub feed: Option<f32>,
}

/// Take a line apart; `None` where a number is none.
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
