//! Arithmetic in parentheses: `size=(8*1024k)`, `runtime=(2*30m)`.
//!
//! The grammar and its odd precedences are fio's: a unit binds looser than `*` but tighter than `+` (`2*3k` is
//! `(2*3)k`), and `%` binds tighter than `^`. Unlike in fio, integers are exact beyond 31 bits, and what fio misreads
//! is an error: division by zero and unknown units (0 in fio), and a fraction before a unit (`(1.5k)` is 1024 in fio).

/// Maximum nesting of parentheses and signs.
const DEPTH_MAX: u32 = 64;

/// A number in an expression: exact while it is an integer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    pub(super) fn as_f64(self) -> f64 {
        match self {
            Self::Int(v) => v as f64,
            Self::Float(v) => v,
        }
    }

    /// Returns the integer part; `None` if it does not fit.
    pub(super) fn truncate(self) -> Option<i128> {
        match self {
            Self::Int(v) => Some(v),
            // 2^100 is far beyond all options' values and exactly representable.
            Self::Float(v) if v.is_finite() && v.abs() < (1u128 << 100) as f64 => Some(v as i128),
            Self::Float(_) => None,
        }
    }
}

/// Returns the value of an expression and whether it has a unit (a time without one is in the option's unit). With
/// `time`, `m` means minutes and times are in microseconds.
pub(super) fn evaluate(text: &str, time: bool) -> Option<(Number, bool)> {
    let mut parser = Parser { rest: text, time, units: false, depth: 0 };
    let value = parser.expression(0)?;
    parser.skip_blanks();
    parser.rest.is_empty().then_some((value, parser.units))
}

struct Parser<'a> {
    rest: &'a str,
    time: bool,
    units: bool,
    depth: u32,
}

/// Binding strengths, loosest first.
const ADD: u8 = 1;
const UNIT: u8 = 2;
const MUL: u8 = 3;
const POW: u8 = 4;
const MOD: u8 = 5;
const SIGN: u8 = 6;

impl Parser<'_> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn eat(&mut self, c: char) -> bool {
        self.skip_blanks();
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expression(&mut self, least: u8) -> Option<Number> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        let mut left = self.operand()?;
        loop {
            self.skip_blanks();
            let Some(c) = self.rest.chars().next() else {
                break;
            };
            let (binding, next) = match c {
                '+' | '-' => (ADD, ADD + 1),
                '*' | '/' => (MUL, MUL + 1),
                '^' => (POW, POW),
                '%' => (MOD, MOD + 1),
                c if c.is_ascii_alphabetic() => (UNIT, UNIT),
                _ => break,
            };
            if binding < least {
                break;
            }
            if binding == UNIT {
                let factor = self.unit()?;
                if matches!(left, Number::Float(v) if v.fract() != 0.0) {
                    return None;
                }
                left = apply('*', left, Number::Int(factor))?;
                self.units = true;
                continue;
            }
            self.rest = &self.rest[1..];
            let right = self.expression(next)?;
            left = apply(c, left, right)?;
        }
        self.depth -= 1;
        Some(left)
    }

    fn operand(&mut self) -> Option<Number> {
        if self.eat('-') {
            let value = self.expression(SIGN)?;
            return apply('-', Number::Int(0), value);
        }
        if self.eat('(') {
            let value = self.expression(0)?;
            return self.eat(')').then_some(value);
        }
        self.number()
    }

    fn number(&mut self) -> Option<Number> {
        let text = self.rest;
        if let Some(hex) = text.strip_prefix("0x") {
            let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
            self.rest = &hex[end..];
            return i128::from_str_radix(&hex[..end], 16).ok().map(Number::Int);
        }
        let digits = |s: &str| s.find(|c: char| !c.is_ascii_digit()).unwrap_or(s.len());
        let mut end = digits(text);
        let mut float = false;
        if let Some(fraction) = text[end..].strip_prefix('.') {
            end += 1 + digits(fraction);
            float = true;
        }
        if let Some(exponent) = text[end..].strip_prefix(['e', 'E']) {
            let sign = usize::from(exponent.starts_with(['+', '-']));
            let length = digits(&exponent[sign..]);
            if length > 0 {
                end += 1 + sign + length;
                float = true;
            }
        }
        let (number, rest) = text.split_at(end);
        self.rest = rest;
        if float {
            let value: f64 = number.parse().ok()?;
            return value.is_finite().then_some(Number::Float(value));
        }
        number.parse().ok().map(Number::Int)
    }

    /// Reads a unit as its factor. fio's lexer has no `ki` and no `tib`, and reads `pib` as 10^12; here, all three are
    /// errors.
    fn unit(&mut self) -> Option<i128> {
        let end = self.rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.rest.len());
        let unit = self.rest[..end].to_ascii_lowercase();
        self.rest = &self.rest[end..];
        Some(match unit.as_str() {
            "k" | "kb" => 1 << 10,
            "mb" => 1 << 20,
            "m" if self.time => 60_000_000,
            "m" => 1 << 20,
            "g" | "gb" => 1 << 30,
            "t" | "tb" => 1 << 40,
            "p" | "pb" => 1 << 50,
            "kib" => 1_000,
            "mib" => 1_000_000,
            "gib" => 1_000_000_000,
            "us" => 1,
            "ms" => 1_000,
            "s" => 1_000_000,
            "h" => 3_600_000_000,
            "d" => 86_400_000_000,
            _ => return None,
        })
    }
}

fn apply(op: char, left: Number, right: Number) -> Option<Number> {
    use Number::{Float, Int};
    let value = match (op, left, right) {
        ('+', Int(a), Int(b)) => Int(a.checked_add(b)?),
        ('-', Int(a), Int(b)) => Int(a.checked_sub(b)?),
        ('*', Int(a), Int(b)) => Int(a.checked_mul(b)?),
        ('/', Int(a), Int(b)) => Int(a.checked_div(b)?),
        ('%', Int(a), Int(b)) => Int(a.checked_rem(b)?),
        ('^', Int(a), Int(b)) if b >= 0 => Int(a.checked_pow(u32::try_from(b).ok()?)?),
        ('+', a, b) => Float(a.as_f64() + b.as_f64()),
        ('-', a, b) => Float(a.as_f64() - b.as_f64()),
        ('*', a, b) => Float(a.as_f64() * b.as_f64()),
        ('/', a, b) => Float(a.as_f64() / b.as_f64()),
        ('^', a, b) => Float(a.as_f64().powf(b.as_f64())),
        _ => return None,
    };
    match value {
        Float(v) if !v.is_finite() => None,
        value => Some(value),
    }
}

#[cfg(test)]
mod tests;
