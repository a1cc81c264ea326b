//! The grammar of expressions.

use super::lexer::Kind;
use super::parser::Parser;
use super::tree::{Expression, Operator};
use super::{NotationError, Result};

/// Terms joined by operators of one level: the tree gets one deeper with each.
const MOST_TERMS: u32 = 1_000;

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Result<Expression> {
        self.binary(0)
    }

    /// Operators of one level associate to the left.
    fn binary(&mut self, level: usize) -> Result<Expression> {
        const LEVELS: [&[(&str, Operator)]; 5] = [
            &[("||", Operator::Or)],
            &[("&&", Operator::And)],
            &[
                ("==", Operator::Equal),
                ("!=", Operator::NotEqual),
                ("<=", Operator::LessOrEqual),
                (">=", Operator::GreaterOrEqual),
                ("<", Operator::Less),
                (">", Operator::Greater),
            ],
            &[("+", Operator::Add), ("-", Operator::Subtract)],
            &[("*", Operator::Multiply)],
        ];
        let Some(operators) = LEVELS.get(level) else {
            return self.nested(Self::unary);
        };
        let mut left = self.binary(level + 1)?;
        let mut terms = 1;
        loop {
            let next = self.peek().kind;
            let found = operators.iter().find(|(sign, _)| next == Kind::Sign(sign));
            let Some((_, operator)) = found else {
                return Ok(left);
            };
            terms += 1;
            if terms > MOST_TERMS {
                let what = format!("an expression of more than {MOST_TERMS} terms");
                return Err(NotationError::new(self.peek().at, what));
            }
            self.advance();
            let right = self.binary(level + 1)?;
            left = Expression::Binary(*operator, Box::new(left), Box::new(right));
        }
    }

    fn unary(&mut self) -> Result<Expression> {
        if self.take_if(Kind::Sign("!")) {
            return Ok(Expression::Not(Box::new(self.nested(Self::unary)?)));
        }
        if self.take_if(Kind::Sign("-")) {
            return Ok(Expression::Negate(Box::new(self.nested(Self::unary)?)));
        }
        if self.take_if(Kind::Sign("(")) {
            let inner = self.expression()?;
            self.sign(")")?;
            return Ok(inner);
        }
        match self.peek().kind {
            Kind::Integer(value) => {
                self.advance();
                Ok(Expression::Integer(value))
            }
            Kind::Word(_) => Ok(Expression::Name(self.name("a value")?)),
            _ => self.expected("a value"),
        }
    }
}
