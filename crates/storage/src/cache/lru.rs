//! Values by key, bounded by their bytes: the one used longest ago goes first.
//!
//! Entries stand in a vector and are chained from the most to the least recently used by their places; finding, touching, adding and evicting take
//! constant time.

use std::collections::HashMap;
use std::hash::Hash;

const NOWHERE: usize = usize::MAX;

struct Entry<K, V> {
    key: K,
    value: V,
    bytes: usize,
    /// The next more recently used.
    newer: usize,
    /// The next less recently used.
    older: usize,
}

/// A bounded map.
pub(crate) struct Lru<K, V> {
    places: HashMap<K, usize>,
    entries: Vec<Entry<K, V>>,
    newest: usize,
    oldest: usize,
    bytes: usize,
    limit: usize,
}

impl<K: Copy + Eq + Hash, V> Lru<K, V> {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            places: HashMap::new(),
            entries: Vec::new(),
            newest: NOWHERE,
            oldest: NOWHERE,
            bytes: 0,
            limit,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn contains(&self, key: &K) -> bool {
        self.places.contains_key(key)
    }

    /// The value, which becomes the most recently used.
    pub(crate) fn get(&mut self, key: &K) -> Option<&V> {
        let place = *self.places.get(key)?;
        self.unchain(place);
        self.chain(place);
        Some(&self.entries[place].value)
    }

    /// Adds a value and evicts others until it fits; tells how many. A value larger than the limit is not kept.
    pub(crate) fn insert(&mut self, key: K, value: V, bytes: usize) -> usize {
        self.remove(&key);
        if bytes > self.limit {
            return 0;
        }
        let before = self.len();
        while self.bytes + bytes > self.limit {
            self.remove_at(self.oldest);
        }
        let evicted = before - self.len();
        let place = self.entries.len();
        self.entries.push(Entry { key, value, bytes, newer: NOWHERE, older: NOWHERE });
        self.places.insert(key, place);
        self.bytes += bytes;
        self.chain(place);
        evicted
    }

    /// Drops what the function does not want to keep.
    pub(crate) fn retain(&mut self, keep: impl Fn(&K) -> bool) {
        let gone: Vec<K> = self.places.keys().filter(|key| !keep(key)).copied().collect();
        gone.iter().for_each(|key| self.remove(key));
    }

    fn remove(&mut self, key: &K) {
        if let Some(place) = self.places.get(key) {
            self.remove_at(*place);
        }
    }

    /// The last entry moves to the place that becomes free.
    fn remove_at(&mut self, place: usize) {
        self.unchain(place);
        let last = self.entries.len() - 1;
        let gone = self.entries.swap_remove(place);
        self.places.remove(&gone.key);
        self.bytes -= gone.bytes;
        if place != last {
            let (key, newer, older) = {
                let moved = &self.entries[place];
                (moved.key, moved.newer, moved.older)
            };
            self.places.insert(key, place);
            *self.older_of(newer) = place;
            *self.newer_of(older) = place;
        }
    }

    fn chain(&mut self, place: usize) {
        let second = self.newest;
        (self.entries[place].newer, self.entries[place].older) = (NOWHERE, second);
        self.newest = place;
        *self.newer_of(second) = place;
    }

    fn unchain(&mut self, place: usize) {
        let (newer, older) = (self.entries[place].newer, self.entries[place].older);
        *self.older_of(newer) = older;
        *self.newer_of(older) = newer;
    }

    /// What names the entry behind `place`; the head of the chain if there is nothing in front.
    fn older_of(&mut self, place: usize) -> &mut usize {
        if place == NOWHERE { &mut self.newest } else { &mut self.entries[place].older }
    }

    fn newer_of(&mut self, place: usize) -> &mut usize {
        if place == NOWHERE { &mut self.oldest } else { &mut self.entries[place].newer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same in the plainest way: a list, most recent first.
    #[derive(Default)]
    struct Plain(Vec<(u8, usize)>);

    impl Plain {
        fn get(&mut self, key: u8) -> Option<usize> {
            let place = self.0.iter().position(|(other, _)| *other == key)?;
            let entry = self.0.remove(place);
            self.0.insert(0, entry);
            Some(entry.1)
        }

        fn insert(&mut self, key: u8, bytes: usize, limit: usize) {
            self.0.retain(|(other, _)| *other != key);
            if bytes <= limit {
                self.0.insert(0, (key, bytes));
                while self.0.iter().map(|(_, bytes)| bytes).sum::<usize>() > limit {
                    self.0.pop();
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(256)))]

        #[test]
        fn prop_it_keeps_what_a_plain_list_keeps(
            calls in prop::collection::vec((0..12u8, 0..30usize, 0..10u8), 1..200),
        ) {
            let (mut lru, mut plain, limit) = (Lru::new(100), Plain::default(), 100);
            for (key, bytes, kind) in calls {
                match kind {
                    0..4 => prop_assert_eq!(lru.get(&key).copied(), plain.get(key)),
                    4..9 => {
                        lru.insert(key, bytes * 5, bytes * 5);
                        plain.insert(key, bytes * 5, limit);
                    }
                    _ => {
                        lru.retain(|other| *other != key);
                        plain.0.retain(|(other, _)| *other != key);
                    }
                }
                prop_assert!(lru.bytes() <= limit);
                prop_assert_eq!(lru.len(), plain.0.len());
                prop_assert_eq!(lru.bytes(), plain.0.iter().map(|(_, bytes)| bytes).sum::<usize>());
            }
        }
    }
}
