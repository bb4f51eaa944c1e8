//! Text for messages.

/// Makes text from a file fit for a message: one line of at most 200 characters, without control
/// characters.
pub fn shown(text: impl std::fmt::Display) -> String {
    one_line(&text.to_string())
}

fn one_line(text: &str) -> String {
    const MAX_CHARACTERS: usize = 200;
    let mut characters = text.trim().chars();
    let mut shown: String = characters
        .by_ref()
        .take(MAX_CHARACTERS)
        .map(|c| match c {
            '\n' | '\t' => ' ',
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// Phrases the names among `known` nearest to `name` as a question for the end of an error message;
/// empty if none is near.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    // One copy of what follows serves all kinds of iterators.
    nearest(name, &mut known.into_iter())
}

fn nearest(name: &str, known: &mut dyn Iterator<Item = &str>) -> String {
    let wanted = name.to_lowercase();
    let mut near: Vec<(f64, &str)> = known
        .map(|candidate| {
            let other = candidate.to_lowercase();
            let score =
                if !wanted.is_empty() && (other.contains(&wanted) || wanted.contains(&other)) {
                    1.0
                } else {
                    strsim::jaro_winkler(&wanted, &other)
                };
            (score, candidate)
        })
        .filter(|(score, _)| *score >= 0.75)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    match near.as_slice() {
        [] => String::new(),
        found => {
            let names: Vec<&str> = found.iter().take(3).map(|(_, name)| *name).collect();
            format!("; did you mean {}?", names.join(" or "))
        }
    }
}
