//! Mean, variance and covariance are the true values, rounded once: against rational arithmetic of another language on fixed
//! data, and against naive big integers on random data.

mod reference;

use proptest::prelude::*;
use reference::{Big, any_float, finite, is_nearest};
use tailrace_algebra::ExactSum;
use tailrace_algebra::moments::{covariance, mean, variance};

/// The exact sums of weighted pairs.
#[derive(Default)]
struct Sums {
    n: i64,
    x: ExactSum,
    y: ExactSum,
    xx: ExactSum,
    xy: ExactSum,
}

impl Sums {
    fn of(pairs: impl IntoIterator<Item = (f64, f64, i64)>) -> Sums {
        let mut sums = Sums::default();
        for (x, y, weight) in pairs {
            sums.add(x, y, weight);
        }
        sums
    }

    fn add(&mut self, x: f64, y: f64, weight: i64) {
        self.n += weight;
        self.x.add(x, weight);
        self.y.add(y, weight);
        self.xx.add_product(x, x, weight);
        self.xy.add_product(x, y, weight);
    }

    fn variance(&self, ddof: u32) -> Option<f64> {
        variance(self.n, &self.x, &self.xx, ddof)
    }

    fn covariance(&self, ddof: u32) -> Option<f64> {
        covariance(self.n, &self.x, &self.y, &self.xy, ddof)
    }
}

/// Everyday pairs with positive weights: statistics of a table.
fn pairs(
    x: impl Strategy<Value = f64>,
    y: impl Strategy<Value = f64>,
) -> impl Strategy<Value = Vec<(f64, f64, i64)>> {
    prop::collection::vec((x, y, prop_oneof![9 => 1_i64..5, 1 => 1_i64..1 << 58]), 0..8)
}

/// `(Σ(x - mean x)(y - mean y)) / (n - ddof)` as a fraction: the definition, with both means brought to the denominator.
fn defined(pairs: &[(f64, f64, i64)], ddof: i128) -> (Big, Big) {
    let n: i128 = pairs.iter().map(|pair| i128::from(pair.2)).sum();
    let big_n = Big::from_i128(n);
    let sum_of = |part: fn(&(f64, f64, i64)) -> f64| {
        let term = |pair: &(f64, f64, i64)| Big::from_f64(part(pair)).times(&Big::from_i128(pair.2.into()));
        pairs.iter().map(term).fold(Big::zero(), |sum, term| sum.plus(&term))
    };
    let (sum_x, sum_y) = (sum_of(|pair| pair.0), sum_of(|pair| pair.1));
    let deviation = |x: f64, sum: &Big| big_n.times(&Big::from_f64(x)).minus(sum);
    let square = |&(x, y, weight): &(f64, f64, i64)| {
        deviation(x, &sum_x).times(&deviation(y, &sum_y)).times(&Big::from_i128(weight.into()))
    };
    let numerator = pairs.iter().map(square).fold(Big::zero(), |sum, term| sum.plus(&term));
    // The product of two numbers in units of 2^-2148 is in units of its square.
    let denominator = big_n.times(&big_n).times(&Big::from_i128(n - ddof)).shifted(2148);
    (numerator, denominator)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(600)))]

    #[test]
    fn prop_covariance_is_the_defined_one_rounded(pairs in pairs(finite(), finite()), ddof in 0_u32..3) {
        let sums = Sums::of(pairs.iter().copied());
        prop_assert_eq!(sums.covariance(ddof).is_some(), sums.n > i64::from(ddof));
        if let Some(read) = sums.covariance(ddof) {
            let (numerator, denominator) = defined(&pairs, ddof.into());
            prop_assert!(is_nearest(read, &numerator, &denominator), "{read:e}");
        }
    }

    #[test]
    fn prop_variance_is_the_covariance_with_itself(pairs in pairs(any_float(), any_float()), ddof in 0_u32..2) {
        let itself = Sums::of(pairs.iter().map(|&(x, _, weight)| (x, x, weight)));
        prop_assert_eq!(itself.variance(ddof).map(f64::to_bits), itself.covariance(ddof).map(f64::to_bits));
        prop_assert!(itself.variance(ddof).is_none_or(|variance| variance >= 0.0 || variance.is_nan()));
    }

    #[test]
    fn prop_mean_is_the_true_one_rounded(pairs in pairs(finite(), finite())) {
        let sums = Sums::of(pairs.iter().copied());
        let terms: Vec<_> = pairs.iter().map(|&(x, _, weight)| (x, weight)).collect();
        if let Some(read) = mean(sums.n, &sums.x) {
            prop_assert!(is_nearest(read, &reference::total(&terms), &Big::from_i128(sums.n.into())), "{read:e}");
        }
    }

    #[test]
    fn prop_constants_have_their_mean_and_no_variance(x in finite(), n in 1_i64..i64::MAX) {
        let sums = Sums::of([(x, x, n)]);
        prop_assert_eq!(mean(n, &sums.x), Some(x));
        prop_assert_eq!(sums.variance(0), Some(0.0));
    }

    #[test]
    fn prop_rows_taken_away_leave_no_trace(kept in pairs(any_float(), any_float()), gone in pairs(any_float(), any_float())) {
        let undone = gone.iter().map(|&(x, y, weight)| (x, y, -weight));
        let changed = Sums::of(kept.iter().chain(&gone).copied().chain(undone));
        let direct = Sums::of(kept.iter().copied());
        prop_assert_eq!(changed.variance(1).map(f64::to_bits), direct.variance(1).map(f64::to_bits));
        prop_assert_eq!(changed.covariance(0).map(f64::to_bits), direct.covariance(0).map(f64::to_bits));
    }
}

#[test]
fn too_few_rows_are_none() {
    let sums = Sums::of([(1.0, 1.0, 1)]);
    assert_eq!((sums.variance(0), sums.variance(1), sums.variance(2)), (Some(0.0), None, None));
    assert_eq!((mean(0, &sums.x), mean(-1, &sums.x), mean(i64::MIN, &sums.x)), (None, None, None));
    assert_eq!(variance(i64::MIN, &sums.x, &sums.xx, u32::MAX), None);
}

#[test]
fn special_values_decide_while_they_are_there() {
    let mut sums = Sums::of([(1.0, 2.0, 1), (3.0, 5.0, 1)]);
    sums.add(f64::INFINITY, 1.0, 1);
    assert_eq!(mean(sums.n, &sums.x), Some(f64::INFINITY));
    assert!(sums.variance(1).is_some_and(f64::is_nan));
    assert!(sums.covariance(1).is_some_and(f64::is_nan));
    sums.add(f64::INFINITY, 1.0, -1);
    assert_eq!(
        (mean(sums.n, &sums.x), sums.variance(1), sums.covariance(1)),
        (Some(2.0), Some(2.0), Some(3.0))
    );
}

#[test]
fn fixed_data_agrees_with_rational_arithmetic() {
    for vector in VECTORS {
        let next = vector.values.iter().cycle().skip(1);
        let sums = Sums::of(vector.values.iter().zip(next).map(|(&x, &y)| (x, y, 1)));
        assert_eq!(mean(sums.n, &sums.x), Some(vector.mean), "mean of {}", vector.name);
        assert_eq!(sums.variance(0), Some(vector.population), "variance of {}", vector.name);
        assert_eq!(sums.variance(1), vector.sample, "sample variance of {}", vector.name);
        assert_eq!(sums.covariance(0), Some(vector.covariance), "covariance of {}", vector.name);
    }
}

/// Values and their statistics, computed by Python's `fractions.Fraction` from the definitions and rounded by `float`.
/// The covariance is that of each value with the next one, the last with the first.
struct Vector {
    name: &'static str,
    values: &'static [f64],
    mean: f64,
    population: f64,
    sample: Option<f64>,
    covariance: f64,
}

#[rustfmt::skip]
const VECTORS: &[Vector] = &[
    Vector {
        name: "small whole numbers",
        values: &[1.0, 2.0, 4.0, 8.0],
        mean: 3.75,
        population: 7.1875,
        sample: Some(9.583333333333334),
        covariance: -1.5625,
    },
    Vector {
        name: "cents",
        values: &[19.99, 5.01, -3.5, 1234.56, 0.07],
        mean: 251.226,
        population: 241800.56666399998,
        sample: Some(302250.70833),
        covariance: -63944.608395999996,
    },
    Vector {
        name: "large offset",
        values: &[1000000000000001.0, 1000000000000002.0, 1000000000000004.0],
        mean: 1000000000000002.4,
        population: 1.5555555555555556,
        sample: Some(2.3333333333333335),
        covariance: -0.7777777777777778,
    },
    Vector {
        name: "constant",
        values: &[0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1],
        mean: 0.1,
        population: 0.0,
        sample: Some(0.0),
        covariance: 0.0,
    },
    Vector {
        name: "two neighbours",
        values: &[1.0, 1.0000000000000002],
        mean: 1.0,
        population: 1.232595164407831e-32,
        sample: Some(2.465190328815662e-32),
        covariance: -1.232595164407831e-32,
    },
    Vector {
        name: "far apart",
        values: &[1e+300, 1e-300, -1e+300],
        mean: 3.3333333333333334e-301,
        population: f64::INFINITY,
        sample: Some(f64::INFINITY),
        covariance: f64::NEG_INFINITY,
    },
    Vector {
        name: "squares overflow",
        values: &[1.5e+154, -1.5e+154, 1e+153],
        mean: 3.3333333333333333e+152,
        population: 1.5022222222222225e+308,
        sample: Some(f64::INFINITY),
        covariance: -7.511111111111113e+307,
    },
    Vector {
        name: "variance overflows",
        values: &[1e+200, -1e+200],
        mean: 0.0,
        population: f64::INFINITY,
        sample: Some(f64::INFINITY),
        covariance: f64::NEG_INFINITY,
    },
    Vector {
        name: "subnormal",
        values: &[5e-324, 1e-323, 2e-320],
        mean: 6.67e-321,
        population: 0.0,
        sample: Some(0.0),
        covariance: -0.0,
    },
    Vector {
        name: "squares underflow",
        values: &[1e-170, 3e-170, -2e-170],
        mean: 6.666666666666667e-171,
        population: 0.0,
        sample: Some(0.0),
        covariance: -0.0,
    },
    Vector {
        name: "variance is subnormal",
        values: &[1e-160, 3e-161, 7e-162],
        mean: 4.566666666666667e-161,
        population: 1.566e-321,
        sample: Some(2.347e-321),
        covariance: -7.8e-322,
    },
    Vector {
        name: "one value",
        values: &[3.25],
        mean: 3.25,
        population: 0.0,
        sample: None,
        covariance: 0.0,
    },
    Vector {
        name: "mixed signs",
        values: &[-0.1, 0.2, -0.3, 0.4, -0.5, 0.6],
        mean: 0.05,
        population: 0.14916666666666667,
        sample: Some(0.179),
        covariance: -0.12916666666666668,
    },
    Vector {
        name: "random unit",
        values: &[0.32383276483316237, 0.15084917392450192, 0.6509344730398537, 0.07243628666754276, 0.5358820043066892, 0.36568891691258554, 0.057998924774706806, 0.5074357331894203, 0.03749565844198488],
        mean: 0.3002837706767164,
        population: 0.04757905330795191,
        sample: Some(0.053526434971445894),
        covariance: -0.033416257209587456,
    },
    Vector {
        name: "random exponents",
        values: &[-2.946723591251216e-17, -531.1221757398528, -5311489869553.078, 3.047925149699658e-11, 4280.350006697561, 7335.263313215581, 9.497005697454905e-18, 2.643746919122725e-17, 1.2884106112572367e-14],
        mean: -590165539829.843,
        population: 2.7863629283045693e+24,
        sample: Some(3.1346582943426406e+24),
        covariance: -3.4829536408919996e+23,
    },
];
