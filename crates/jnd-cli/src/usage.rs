//! Mistakes in a command line, in one line each: what is wrong, what is possible, where to read on.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// What the argument parser says of a mistake in the arguments of `command` (`jnd magnify`), as one line.
pub(crate) fn message(error: &clap::Error, command: &str) -> String {
    let rendered = error.render().to_string();
    // The first paragraph is what is wrong. What follows is the usage, and tips that are not always of use.
    let first = rendered.split("\n\n").next().unwrap_or_default();
    let text: Vec<&str> = first.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let text = text.join(" ");
    let text = plain(text.strip_prefix("error: ").unwrap_or(&text));
    let hint = match elsewhere(error, command) {
        Some(hint) => hint,
        None => similar(error),
    };
    format!("{text}{hint}; see `{command} --help`")
}

/// The parser's words for wrong numbers and its brackets, in plain words.
fn plain(text: &str) -> String {
    let text = match text.split_once(" [possible values: ") {
        Some((before, values)) => format!("{before}; possible values: {}", values.trim_end_matches(']')),
        None => text.to_owned(),
    };
    const WORDS: [(&str, &str); 6] = [
        ("invalid float literal", "not a number; write it like 3 or 0.25"),
        ("cannot parse float from empty string", "not a number; write it like 3 or 0.25"),
        ("invalid digit found in string", "not a whole number from 0 up"),
        ("cannot parse integer from empty string", "not a whole number from 0 up"),
        ("number too large to fit in target type", "too large a number"),
        ("number too small to fit in target type", "too small a number"),
    ];
    for (theirs, ours) in WORDS {
        if let Some(before) = text.strip_suffix(theirs) {
            return format!("{before}{ours}");
        }
    }
    // `300 is not in 0..=255`
    if let Some((before, range)) = text.rsplit_once(" is not in ")
        && let Some((low, high)) = range.split_once("..=")
    {
        return format!("{before} is not from {low} to {high}");
    }
    text
}

/// What the parser has that is spelled nearly like this.
fn similar(error: &clap::Error) -> String {
    let near = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue]
        .into_iter()
        .find_map(|kind| error.get(kind));
    let near: Vec<&str> = match near {
        Some(ContextValue::String(one)) => vec![one],
        // The manual page is for packagers.
        Some(ContextValue::Strings(all)) => all.iter().map(String::as_str).filter(|s| *s != "man").collect(),
        _ => Vec::new(),
    };
    if near.is_empty() { String::new() } else { format!(" (did you mean {}?)", near.join(" or ")) }
}

/// Where that is known, how to say what was meant by an option that there is not.
fn elsewhere(error: &clap::Error, command: &str) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument || command != "jnd magnify" {
        return None;
    }
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return None };
    match option.as_str() {
        "-o" | "--output" => Some("; the output is the second argument: jnd magnify INPUT OUTPUT".into()),
        "-i" | "--input" => Some("; the input is the first argument: jnd magnify INPUT OUTPUT".into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parsers_words_become_plain() {
        assert_eq!(plain("a: invalid float literal"), "a: not a number; write it like 3 or 0.25");
        assert_eq!(plain("a: 300 is not in 0..=255"), "a: 300 is not from 0 to 255");
        assert_eq!(plain("a [possible values: b, c]"), "a; possible values: b, c");
        assert_eq!(plain("is not in sight"), "is not in sight");
    }
}
