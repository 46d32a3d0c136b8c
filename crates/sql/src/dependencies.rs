//! Functional dependencies: which columns of a relation decide which others, and which decide the row.
//!
//! A dependency `from -> to` says that two rows which agree in `from` (NULL agrees with NULL) agree in `to`; one that decides the *row* says that there is at most
//! one such row. A constant column is decided by no column, two equal columns decide each other, a key decides the row: one form for all of them. What is
//! stated here always holds; what is not stated may hold all the same, so that a key that is found is one, and one that is not found may exist.

use std::collections::{BTreeSet, HashMap};

use arrow_schema::Schema;
use datafusion_physical_expr::utils::collect_columns;
use tailrace_operators::Scalar;

/// Positions of columns.
pub(crate) type Columns = BTreeSet<usize>;

/// More than these say nothing new in practice, and every one costs time.
const MOST: usize = 64;

/// What is known of the columns of one relation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dependencies {
    width: usize,
    known: Vec<Dependency>,
    /// Columns whose values count from one on.
    counts: Columns,
}

#[derive(Clone, Debug)]
struct Dependency {
    from: Columns,
    to: Columns,
    row: bool,
}

/// What some columns decide.
pub(crate) struct Decided {
    columns: Columns,
    /// Whether they decide the row.
    pub(crate) row: bool,
}

impl Dependencies {
    /// Nothing is known of so many columns.
    pub(crate) fn none(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// All columns together decide the row.
    pub(crate) fn distinct(width: usize) -> Self {
        let mut all = Self::none(width);
        all.decide_row((0..width).collect());
        all
    }

    /// `from` decides `to`.
    pub(crate) fn decide(&mut self, from: Columns, to: Columns) {
        self.add(Dependency { from, to, row: false });
    }

    /// `from` decides the row.
    pub(crate) fn decide_row(&mut self, from: Columns) {
        self.add(Dependency { from, to: Columns::new(), row: true });
    }

    /// The same, where `from` is what the rows were made to be told apart by: it is preferred to other keys.
    pub(crate) fn tell_apart(&mut self, from: Columns) {
        self.known.insert(0, Dependency { from, to: Columns::new(), row: true });
    }

    /// The values of a column count from one on.
    pub(crate) fn count(&mut self, column: usize) {
        self.counts.insert(column);
    }

    /// Whether the values of a column are known to count from one on.
    pub(crate) fn counts(&self, column: usize) -> bool {
        self.counts.contains(&column)
    }

    fn add(&mut self, new: Dependency) {
        let decided = self.decided(&new.from);
        let known = (decided.row || !new.row) && new.to.is_subset(&decided.columns);
        if !known && (self.known.len() < MOST || new.row) {
            self.known.push(new);
        }
    }

    /// All that follows from some columns.
    pub(crate) fn decided(&self, from: &Columns) -> Decided {
        let mut columns = from.clone();
        let mut used = vec![false; self.known.len()];
        loop {
            let next = (0..used.len()).find(|at| !used[*at] && self.known[*at].from.is_subset(&columns));
            let Some(at) = next else { return Decided { columns, row: false } };
            if self.known[at].row {
                return Decided { columns: (0..self.width).collect(), row: true };
            }
            used[at] = true;
            columns.extend(&self.known[at].to);
        }
    }

    /// The same rows with more columns behind, of which nothing is known but what the row decides.
    pub(crate) fn widened(mut self, width: usize) -> Self {
        self.width = width;
        self
    }

    /// Computed columns of the same rows.
    pub(crate) fn projected(&self, outputs: &[Scalar]) -> Self {
        let width = self.width;
        let mut wide = self.clone().widened(width + outputs.len());
        let mut places: HashMap<usize, usize> = HashMap::new();
        for (place, scalar) in outputs.iter().enumerate() {
            let output = Columns::from([width + place]);
            match scalar.as_column() {
                Some(column) => {
                    wide.known.push(Dependency { from: [column].into(), to: output.clone(), row: false });
                    wide.known.push(Dependency { from: output, to: [column].into(), row: false });
                    places.entry(column).or_insert(place);
                }
                None => wide.known.push(Dependency { from: read_by(scalar), to: output, row: false }),
            }
        }
        let constant = wide.decided(&Columns::new()).columns;
        let mut kept = Self::none(outputs.len());
        kept.counts = (0..outputs.len())
            .filter(|place| outputs[*place].as_column().is_some_and(|column| self.counts(column)))
            .collect();
        for dependency in &wide.known {
            let Some(from) = wide.shown(dependency, &constant, &places, width) else { continue };
            let Decided { columns, row } = wide.decided(&dependency.from);
            let to = columns.range(width..).map(|column| column - width).collect();
            kept.add(Dependency { from, to, row });
        }
        kept
    }

    /// What a dependency goes by, in columns that are shown: constants need none, and a column that is not shown may be decided by one that is.
    fn shown(
        &self,
        dependency: &Dependency,
        constant: &Columns,
        places: &HashMap<usize, usize>,
        width: usize,
    ) -> Option<Columns> {
        let place = |column: &usize| {
            let direct = column.checked_sub(width).or_else(|| places.get(column).copied());
            let decides = |output: &usize| self.decided(&[width + output].into()).columns.contains(column);
            direct.or_else(|| (0..(self.width - width).min(MOST)).find(|output| decides(output)))
        };
        dependency.from.iter().filter(|column| !constant.contains(column)).map(place).collect()
    }

    /// The same columns with rows of NULL among them: only what goes by a column that is otherwise never NULL still holds.
    pub(crate) fn padded(&self, schema: &Schema) -> Self {
        let certain = |column: &usize| !schema.field(*column).is_nullable();
        let known = self.known.iter().filter(|dependency| dependency.from.iter().any(certain)).cloned();
        Self { known: known.collect(), ..Self::none(self.width) }
    }

    /// The columns of a pair of relations, the second behind the first, with one more column for the row of each.
    pub(crate) fn paired(&self, right: &Self) -> Self {
        let (left_row, right_row) = (self.width + right.width, self.width + right.width + 1);
        let mut both = Self::none(right_row + 1);
        let shifted =
            |columns: &Columns, by: usize| -> Columns { columns.iter().map(|column| column + by).collect() };
        for (side, by, row) in [(self, 0, left_row), (right, self.width, right_row)] {
            for dependency in &side.known {
                let mut to: Columns = shifted(&dependency.to, by);
                if dependency.row {
                    to.extend(by..by + side.width);
                    to.insert(row);
                }
                both.known.push(Dependency { from: shifted(&dependency.from, by), to, row: false });
            }
        }
        both.known.push(Dependency { from: [left_row, right_row].into(), to: Columns::new(), row: true });
        // The same said of columns, which an output may show where it cannot show rows.
        let keys = |side: &Self| {
            side.known.iter().filter(|known| known.row).map(|known| known.from.clone()).collect()
        };
        let (left_keys, right_keys): (Vec<Columns>, Vec<Columns>) = (keys(self), keys(right));
        for (left, right) in
            left_keys.iter().flat_map(|left| right_keys.iter().map(move |right| (left, right)))
        {
            let from = left.union(&shifted(right, self.width)).copied().collect();
            both.known.push(Dependency { from, to: Columns::new(), row: true });
        }
        both
    }

    /// Without a column, and without what decides the row: every row has become several.
    pub(crate) fn multiplied(&self, column: usize) -> Self {
        let mut kept = Self::none(self.width);
        for dependency in self.known.iter().filter(|dependency| !dependency.from.contains(&column)) {
            let mut to = self.decided(&dependency.from).columns;
            to.remove(&column);
            kept.add(Dependency { from: dependency.from.clone(), to, row: false });
        }
        kept
    }

    /// The fewest columns that are found to decide the row, where those of `fixed` have one value; of several keys of one size that which was found first.
    pub(crate) fn key(&self, fixed: &Columns) -> Option<Columns> {
        let decides = |columns: &Columns| self.decided(&columns.union(fixed).copied().collect()).row;
        let candidates = self.known.iter().map(|dependency| &dependency.from).filter(|from| decides(from));
        let least = |from: &Columns| {
            let mut key: Columns = from.difference(fixed).copied().collect();
            for column in from.iter().rev() {
                let rest: Columns = key.iter().filter(|other| *other != column).copied().collect();
                if decides(&rest) {
                    key = rest;
                }
            }
            key
        };
        candidates.map(least).min_by_key(Columns::len)
    }
}

/// The columns that an expression reads.
pub(crate) fn read_by(scalar: &Scalar) -> Columns {
    collect_columns(scalar.expr()).iter().map(|column| column.index()).collect()
}
