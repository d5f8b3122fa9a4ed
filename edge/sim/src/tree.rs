//! A text whose blocks are told by indentation, as NX-OS and FRR print theirs.

/// A line and the lines that stand deeper below it.
pub(crate) struct Block<'a> {
    pub(crate) words: Vec<&'a str>,
    pub(crate) inner: Vec<Block<'a>>,
}

/// The blocks of a text. Empty lines and comments are left out.
pub(crate) fn blocks(text: &str) -> Vec<Block<'_>> {
    let lines: Vec<(usize, &str)> = text
        .lines()
        .map(|line| (line.len() - line.trim_start().len(), line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('!'))
        .collect();
    nest(&lines)
}

/// Cuts the lines where one is not deeper than the first of its block.
fn nest<'a>(lines: &[(usize, &'a str)]) -> Vec<Block<'a>> {
    let mut blocks = Vec::new();
    let mut rest = lines;
    while let [(indent, head), below @ ..] = rest {
        let end = below.iter().position(|(deeper, _)| deeper <= indent).unwrap_or(below.len());
        let (inner, after) = below.split_at(end);
        blocks.push(Block { words: head.split_whitespace().collect(), inner: nest(inner) });
        rest = after;
    }
    blocks
}
