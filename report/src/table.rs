//! Columns that line up.

/// A table: the first column to the left, the others to the right.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings.
    pub fn new<S: Into<String>>(headings: impl IntoIterator<Item = S>) -> Self {
        let mut table = Self::default();
        table.row(headings);
        table
    }

    /// Adds a row.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The table as text, indented, two spaces between columns.
    pub fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut out = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (i, (cell, width)) in row.iter().zip(&widths).enumerate() {
                line.push_str("  ");
                line.push_str(&match i {
                    0 => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                });
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

/// A number with its thousands set apart: 1,234,567.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of things: 1 race, 2 races.
pub fn counted(number: usize, noun: &str) -> String {
    let plural = match (number, noun.strip_suffix('y')) {
        (1, _) => noun.to_owned(),
        (_, Some(stem)) => format!("{stem}ies"),
        (_, None) => format!("{noun}s"),
    };
    format!("{} {plural}", thousands(number as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(["detector", "n"]);
        table.row(["fasttrack", "7"]);
        table.row(["djit", "1,024"]);
        let expected = "  detector       n\n  fasttrack      7\n  djit       1,024\n";
        assert_eq!(table.render(), expected);
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!(counted(1, "race"), "1 race");
        assert_eq!(counted(0, "race"), "0 races");
        assert_eq!(counted(2_000, "anomaly"), "2,000 anomalies");
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_000), "1,000");
        assert_eq!(thousands(12_345_678), "12,345,678");
    }
}
