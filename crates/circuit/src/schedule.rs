//! The frontier: which nodes still have to run in this tick.
//!
//! **Promise.** `pop` gives the queued nodes in the order of the schedule; a node queued twice is given once. Both operations
//! take one instruction or two per level, and there are `log64(nodes)` levels: three for a quarter of a million nodes. So
//! a step that touches 5 of 3,000 nodes costs 5 pushes and 5 pops, wherever they lie.
//!
//! **Why it works.** The schedule is the order of names (see [`node`](crate::node)), and a node only ever queues nodes behind
//! itself. What is left to decide at run time is membership in a set of small integers with "take the smallest": a bitmap
//! with summaries. Bit `i` of level `k + 1` says whether word `i` of level `k` has any bit.

const BITS: usize = u64::BITS as usize;

/// A set of node indexes that gives back the smallest first.
#[derive(Debug, Default)]
pub(crate) struct Frontier {
    /// `levels[0]` has a bit per node; the last level has one word.
    levels: Vec<Vec<u64>>,
}

impl Frontier {
    /// Makes room for indexes below `nodes`.
    pub(crate) fn reserve(&mut self, nodes: usize) {
        let mut words = nodes.div_ceil(BITS).max(1);
        for level in 0.. {
            if self.levels.len() == level {
                self.levels.push(self.summary(level));
            }
            words = words.max(self.levels[level].len());
            self.levels[level].resize(words, 0);
            if words == 1 {
                break;
            }
            words = words.div_ceil(BITS);
        }
    }

    /// Adds an index for which room was made.
    pub(crate) fn push(&mut self, index: usize) {
        let mut at = index;
        for level in &mut self.levels {
            level[at / BITS] |= 1 << (at % BITS);
            at /= BITS;
        }
    }

    /// Takes the smallest index out.
    pub(crate) fn pop(&mut self) -> Option<usize> {
        let top = self.levels.last()?;
        if top[0] == 0 {
            return None;
        }
        let smallest = |at: usize, level: &Vec<u64>| at * BITS + level[at].trailing_zeros() as usize;
        let index = self.levels.iter().rev().fold(0, smallest);
        self.erase(index);
        Some(index)
    }

    /// Takes all indexes out.
    pub(crate) fn clear(&mut self) {
        while self.pop().is_some() {}
    }

    fn erase(&mut self, index: usize) {
        let mut at = index;
        for level in &mut self.levels {
            level[at / BITS] &= !(1 << (at % BITS));
            if level[at / BITS] != 0 {
                return;
            }
            at /= BITS;
        }
    }

    /// The words of a new level, from the one below it.
    fn summary(&self, level: usize) -> Vec<u64> {
        let Some(below) = level.checked_sub(1).map(|below| &self.levels[below]) else { return Vec::new() };
        let word = |words: &[u64]| words.iter().rev().fold(0, |bits, word| bits << 1 | u64::from(*word != 0));
        below.chunks(BITS).map(word).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(256)))]

        #[test]
        fn oracle_frontier_is_an_ordered_set(moves in proptest::collection::vec((0usize..300_000, 0u8..4), 0..200)) {
            let mut frontier = Frontier::default();
            let mut set = BTreeSet::new();
            let mut room = 0;
            for (index, action) in moves {
                if action == 0 {
                    prop_assert_eq!(frontier.pop(), set.pop_first());
                } else {
                    let index = if action == 1 { index % 70 } else { index };
                    room = room.max(index + 1);
                    frontier.reserve(room);
                    frontier.push(index);
                    set.insert(index);
                }
            }
            let rest: Vec<usize> = std::iter::from_fn(|| frontier.pop()).collect();
            prop_assert_eq!(rest, set.into_iter().collect::<Vec<_>>());
        }
    }
}
