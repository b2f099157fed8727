//! Numbers as the reference prints them.

/// C's `%g`: six significant digits, no trailing zeros, an exponent where it is shorter.
pub fn format_g(v: f64) -> String {
    if !v.is_finite() {
        return if v.is_nan() {
            "nan".into()
        } else if v > 0.0 {
            "inf".into()
        } else {
            "-inf".into()
        };
    }
    if v == 0.0 {
        return if v.is_sign_negative() { "-0".into() } else { "0".into() };
    }
    let scientific = format!("{v:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return trim_zeros(&format!("{v:.*}", (5 - exponent) as usize)).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trim_zeros(mantissa), exponent.abs())
}

fn trim_zeros(s: &str) -> &str {
    if s.contains('.') { s.trim_end_matches('0').trim_end_matches('.') } else { s }
}

/// C's `%.Nf` of a finite number.
pub(crate) fn format_fixed(v: f64, decimals: usize) -> String {
    format!("{v:.decimals$}")
}

/// The reference's `%.6f`, or `%.16f` for a fraction with more than six leading zeros, which would say nothing.
pub(crate) fn format_legacy(v: f64) -> String {
    let mut fraction = v.abs().fract();
    let mut steps = 0;
    while fraction > 0.0 && fraction < 1.0 {
        fraction *= 10.0;
        steps += 1;
    }
    format_fixed(v, if steps > 6 { 16 } else { 6 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_c_prints_them() {
        for (v, want) in [
            (0.5, "0.5"),
            (45.0, "45"),
            (3.711340206, "3.71134"),
            (1.0005, "1.0005"),
            (0.0, "0"),
            (10000.0, "10000"),
            (1234567.0, "1.23457e+06"),
            (0.00001234, "1.234e-05"),
            (0.0001, "0.0001"),
            (999999.5, "1e+06"),
            (2.0 / 3.0, "0.666667"),
            (-1.5, "-1.5"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(format_g(v), want);
        }
    }

    #[test]
    fn small_fractions_get_more_decimals() {
        assert_eq!(format_legacy(0.0), "0.000000");
        assert_eq!(format_legacy(14.181573), "14.181573");
        assert_eq!(format_legacy(5.616e-5), "0.000056");
        assert_eq!(format_legacy(9e-7), "0.0000009000000000");
        assert_eq!(format_legacy(3.0000001), "3.0000000999999998");
        assert_eq!(format_legacy(f64::from_bits(1)), "0.0000000000000000");
    }
}
