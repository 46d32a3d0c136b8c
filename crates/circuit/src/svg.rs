//! A picture of a circuit that needs no other program: SVG.
//!
//! Nodes stand in rows, each below all that it reads, in the order of the schedule; so every edge but feedback points down. A nested scope is laid out first and then
//! takes the place of one large node. Same circuit, same text.

use std::collections::HashMap;
use std::fmt::Write;

use crate::graph::{GraphOptions, entering, leaving, name, title};
use crate::scope::Scope;
use crate::view::NodeView;

const LINE: f64 = 16.0;
const LETTER: f64 = 7.2;
const PADDING: f64 = 10.0;
const GAP: f64 = 28.0;
/// Longer lines are cut; the whole text stands in the tooltip.
const LETTERS: usize = 48;

const STYLE: &str = "<style>text{font:12px monospace;fill:#1a1a1a}rect{fill:#f6f8fa;stroke:#57606a}\
    rect.scope{fill:none;stroke-dasharray:4 3}path{fill:none;stroke:#57606a}path.feedback{stroke-dasharray:4 3}</style>";

impl Scope {
    /// The circuit as an SVG document.
    pub fn to_svg(&self, options: GraphOptions) -> String {
        let sheet = Sheet::of(self, "n", options);
        let (width, height) = (sheet.width + 2.0 * GAP, sheet.height + 2.0 * GAP);
        let mut drawing = Drawing::default();
        drawing.sheet(&sheet, GAP, GAP);
        drawing.edges(self, "n");
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\">\n{STYLE}\n"
        );
        text.push_str(&drawing.lines);
        text.push_str(&drawing.boxes);
        text.push_str("</svg>\n");
        text
    }
}

/// A scope with the places of its nodes, relative to its own corner.
struct Sheet {
    width: f64,
    height: f64,
    cells: Vec<Cell>,
}

struct Cell {
    name: String,
    title: String,
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    inner: Option<Sheet>,
}

impl Sheet {
    fn of(scope: &Scope, prefix: &str, options: GraphOptions) -> Self {
        let mut rows: Vec<Vec<Cell>> = Vec::new();
        let mut ranks = HashMap::new();
        for node in scope.nodes() {
            let above = node.inputs().iter().filter_map(|input| ranks.get(&input.node()));
            let rank: usize = above.max().map_or(0, |rank: &usize| rank + 1);
            ranks.insert(node.id(), rank);
            if rows.len() <= rank {
                rows.resize_with(rank + 1, Vec::new);
            }
            rows[rank].push(Cell::of(&node, prefix, options));
        }
        Self::stacked(rows)
    }

    /// Puts rows under each other, each in the middle.
    fn stacked(rows: Vec<Vec<Cell>>) -> Self {
        let wide = |row: &Vec<Cell>| row.iter().map(|cell| cell.width + GAP).sum::<f64>() - GAP;
        let width = rows.iter().map(wide).fold(0.0, f64::max);
        let (mut cells, mut y) = (Vec::new(), 0.0);
        for row in rows {
            let mut x = (width - wide(&row)) / 2.0;
            let high = row.iter().map(|cell| cell.height).fold(0.0, f64::max);
            for mut cell in row {
                (cell.x, cell.y) = (x, y);
                x += cell.width + GAP;
                cells.push(cell);
            }
            y += high + GAP;
        }
        Self { width, height: (y - GAP).max(0.0), cells }
    }
}

impl Cell {
    fn of(node: &NodeView<'_>, prefix: &str, options: GraphOptions) -> Self {
        let (name, title) = (name(prefix, node.id()), title(node, options));
        let letters = title.lines().map(|line| line.chars().count().min(LETTERS)).max().unwrap_or(0);
        let (mut width, mut height) =
            (letters as f64 * LETTER + 2.0 * PADDING, title.lines().count() as f64 * LINE + PADDING);
        let inner = node.subcircuit().map(|inner| Sheet::of(inner, &format!("{name}_"), options));
        if let Some(inner) = &inner {
            (width, height) = (width.max(inner.width + 2.0 * PADDING), height + inner.height + 2.0 * PADDING);
        }
        Self { name, title, x: 0.0, y: 0.0, width, height, inner }
    }
}

/// What has been drawn, and where edges may start and end.
#[derive(Default)]
struct Drawing {
    boxes: String,
    lines: String,
    /// The middle of each node's top and bottom.
    ends: HashMap<String, (f64, f64, f64)>,
}

impl Drawing {
    fn sheet(&mut self, sheet: &Sheet, left: f64, top: f64) {
        for cell in &sheet.cells {
            let (x, y) = (left + cell.x, top + cell.y);
            self.ends.insert(cell.name.clone(), (x + cell.width / 2.0, y, y + cell.height));
            let class = if cell.inner.is_some() { " class=\"scope\"" } else { "" };
            let _ = writeln!(
                self.boxes,
                "<g><title>{}</title><rect{class} x=\"{x:.0}\" y=\"{y:.0}\" width=\"{:.0}\" height=\"{:.0}\" rx=\"4\"/>{}</g>",
                escape(&cell.title),
                cell.width,
                cell.height,
                lines(&cell.title, x + PADDING, y + LINE)
            );
            if let Some(inner) = &cell.inner {
                let head = cell.title.lines().count() as f64 * LINE + PADDING;
                self.sheet(inner, x + (cell.width - inner.width) / 2.0, y + head);
            }
        }
    }

    fn edges(&mut self, scope: &Scope, prefix: &str) {
        for node in scope.nodes() {
            for (place, input) in node.inputs().iter().enumerate() {
                self.edge(&leaving(scope, *input, &node, prefix), &entering(&node, place, prefix), "");
            }
            if let Some(inner) = node.subcircuit() {
                self.edges(inner, &format!("{}_", name(prefix, node.id())));
            }
        }
        for (variable, stream) in scope.feedbacks() {
            self.edge(&name(prefix, stream.node()), &name(prefix, variable.node()), " class=\"feedback\"");
        }
    }

    /// A curve from the bottom of one node to the top of another.
    fn edge(&mut self, from: &str, to: &str, class: &str) {
        let (Some((x, _, y)), Some((to_x, to_y, _))) = (self.ends.get(from), self.ends.get(to)) else {
            return;
        };
        let half = (y + to_y) / 2.0;
        let _ = writeln!(
            self.lines,
            "<path{class} d=\"M{x:.0},{y:.0} C{x:.0},{half:.0} {to_x:.0},{half:.0} {to_x:.0},{to_y:.0}\"/>"
        );
    }
}

fn lines(title: &str, x: f64, y: f64) -> String {
    let line = |(index, line): (usize, &str)| {
        let mut shown: String = line.chars().take(LETTERS).collect();
        if shown.len() < line.len() {
            shown.pop();
            shown.push('…');
        }
        format!("<text x=\"{x:.0}\" y=\"{:.0}\">{}</text>", y + index as f64 * LINE, escape(&shown))
    };
    title.lines().enumerate().map(line).collect()
}

/// Titles are users' text: nothing in them may be taken for markup.
fn escape(text: &str) -> String {
    let plain: String = text.chars().filter(|letter| *letter == '\n' || !letter.is_control()).collect();
    plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
