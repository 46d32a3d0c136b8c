//! Packing: the leading columns of a row in one word, order preserving and range compressed.
//!
//! A column takes as many bits as the range of its lane in this batch needs, and one value more if there are NULLs, which come first. Columns stand from
//! high bits to low; what does not fit is cut off, and then the word does not decide alone. Behind the columns stands a tail: the row number, or
//! the weight itself, which is small nearly always. Where every lane is exact the columns can be read back from the words, so that sorted words are
//! sorted rows and nothing is gathered.

use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;

use crate::lane::{Code, Lane, Visit};
use crate::word::Word;

/// How one column is packed.
pub(crate) struct Field<'a> {
    lane: Lane<'a>,
    nulls: Option<&'a NullBuffer>,
    /// The least integer of the lane, taken off before packing.
    pub(crate) base: u128,
    /// Bits that the range needs, NULL included.
    pub(crate) bits: u32,
    /// Low bits that did not fit.
    cut: u32,
    exact: bool,
}

/// Which bits of which columns go into the word.
pub(crate) struct Packing<'a> {
    pub(crate) fields: Vec<Field<'a>>,
    /// Bits of all fields together.
    pub(crate) bits: u32,
    /// Columns that the word decides fully.
    pub(crate) settled: usize,
    /// The word decides the whole order.
    pub(crate) exact: bool,
}

impl<'a> Packing<'a> {
    /// Measures columns from the first on, until the word is full or a lane does not decide.
    pub(crate) fn measure(columns: &'a [ArrayRef], len: usize) -> Self {
        let mut packing = Self { fields: Vec::new(), bits: 0, settled: 0, exact: false };
        for column in columns {
            let Some(field) = Field::measure(column, len) else { return packing };
            packing.bits += field.bits;
            let goes_on = field.exact && packing.bits <= 128;
            packing.settled += usize::from(goes_on);
            packing.fields.push(field);
            if !goes_on {
                return packing;
            }
        }
        packing.exact = true;
        packing
    }

    /// Cuts what is more than `room` bits.
    pub(crate) fn fit(mut self, room: u32) -> Self {
        while self.bits > room {
            let Some(last) = self.fields.last_mut() else { return self };
            let cut = (self.bits - room).min(last.bits - last.cut);
            last.cut += cut;
            self.bits -= cut;
            let gone = last.cut == last.bits;
            self.exact = false;
            self.settled = self.settled.min(self.fields.len() - 1);
            if gone {
                self.fields.pop();
            }
        }
        self
    }

    /// Puts the columns above the tails, which take the lowest `tail_bits` of each word.
    pub(crate) fn pack<W: Word>(&self, mut tails: Vec<W>, tail_bits: u32) -> Vec<W> {
        let mut shift = self.bits + tail_bits;
        for field in &self.fields {
            shift -= field.bits - field.cut;
            // A lane of a type that could be measured can be packed.
            let _ = field.lane.visit(Pack { field, words: &mut tails, shift });
        }
        tails
    }
}

impl<'a> Field<'a> {
    fn measure(column: &'a ArrayRef, len: usize) -> Option<Self> {
        let nulls = column.nulls().filter(|nulls| nulls.null_count() > 0);
        let lane = Lane::of(column);
        let measured = lane.visit(Measure { nulls, len })?;
        let nullable = nulls.is_some();
        let values = measured.range.checked_add(u128::from(nullable));
        let bits = 128 - values.unwrap_or(u128::MAX).leading_zeros();
        Some(Self {
            lane,
            nulls,
            base: measured.least,
            bits,
            cut: 0,
            exact: measured.exact && values.is_some(),
        })
    }

    /// Whether the column has NULLs, whose code is zero.
    pub(crate) fn nullable(&self) -> bool {
        self.nulls.is_some()
    }
}

struct Measure<'a> {
    nulls: Option<&'a NullBuffer>,
    len: usize,
}

struct Measured {
    least: u128,
    range: u128,
    exact: bool,
}

impl Visit for Measure<'_> {
    type Out = Measured;

    fn lane<C: Code>(self, exact: bool, at: impl Fn(usize) -> C) -> Measured {
        let (mut least, mut greatest) = (C::GREATEST, C::LEAST);
        let mut meet = |row| {
            least = least.min(at(row));
            greatest = greatest.max(at(row));
        };
        match self.nulls {
            None => (0..self.len).for_each(meet),
            Some(nulls) => nulls.valid_indices().for_each(&mut meet),
        }
        if least > greatest {
            return Measured { least: 0, range: 0, exact };
        }
        Measured { least: least.wide(), range: greatest.wide() - least.wide(), exact }
    }
}

struct Pack<'p, W> {
    field: &'p Field<'p>,
    words: &'p mut [W],
    shift: u32,
}

impl<W: Word> Visit for Pack<'_, W> {
    type Out = ();

    fn lane<C: Code>(self, _exact: bool, at: impl Fn(usize) -> C) {
        let (base, cut, shift) = (C::of(self.field.base), self.field.cut, self.shift);
        let rows = self.words.iter_mut().enumerate();
        match self.field.nulls {
            None => rows.for_each(|(row, word)| *word = word.or(at(row).minus::<W>(base).above(cut), shift)),
            Some(nulls) => rows.filter(|(row, _)| nulls.is_valid(*row)).for_each(|(row, word)| {
                *word = word.or(at(row).minus::<W>(base).next().above(cut), shift);
            }),
        }
    }
}
