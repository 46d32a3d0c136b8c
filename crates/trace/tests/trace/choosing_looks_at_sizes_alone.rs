//! What to merge is a pure function of the sizes of the layers.

use proptest::prelude::*;
use tailrace_trace::{Choice, choose};

#[test]
fn neighbours_merge_when_the_older_is_at_most_twice_a_newer_one() {
    let whole = |sizes: &[usize]| sizes.iter().map(|size| Some(*size)).collect::<Vec<_>>();
    assert_eq!(choose(&[], false), Choice::Wait);
    assert_eq!(choose(&whole(&[5]), false), Choice::Wait);
    assert_eq!(choose(&whole(&[5, 2]), false), Choice::Wait);
    assert_eq!(choose(&whole(&[4, 2]), false), Choice::Merge(0));
    assert_eq!(choose(&whole(&[1, 100]), false), Choice::Merge(0));
    assert_eq!(choose(&whole(&[4, 2, 1]), false), Choice::Merge(1), "the newest first");
    assert_eq!(choose(&[Some(1), None, Some(1)], false), Choice::Wait, "a running merge is no neighbour");
    assert_eq!(choose(&[None, Some(3), Some(3)], false), Choice::Merge(1));
    assert_eq!(
        choose(&whole(&[64, 31, 15, 7, 1_000]), false),
        Choice::Merge(2),
        "small ones before the large one is copied"
    );
    let most = (1 << 31) - 1;
    assert_eq!(
        choose(&whole(&[most - 1, most]), false),
        Choice::Wait,
        "no batch may outgrow its row numbers"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(256)))]

    #[test]
    fn prop_layers_that_wait_halve(sizes in prop::collection::vec(1usize..1_000_000, 0..12)) {
        let layers: Vec<Option<usize>> = sizes.iter().map(|size| Some(*size)).collect();
        match choose(&layers, false) {
            Choice::Wait => prop_assert!(sizes.windows(2).all(|pair| pair[0] > 2 * pair[1])),
            Choice::Merge(older) => prop_assert!(sizes[older + 1..].iter().any(|newer| sizes[older] <= 2 * newer)),
        }
    }
}
