//! The grammar, one method a rule. See the crate's front page for the
//! notation itself.

use racehound_trace::MemoryOrder;

use super::lexer::{Kind, Token, tokens};
use super::tree::{
    Action, Atomic, Block, Body, Declaration, Declared, Expression, Method, Name, Statement, Tree,
};
use super::{NotationError, Position, Result};

/// Words that cannot be names.
const KEYWORDS: [&str; 36] = [
    "var",
    "volatile",
    "lock",
    "recursive",
    "rwlock",
    "cond",
    "semaphore",
    "barrier",
    "fn",
    "thread",
    "read",
    "if",
    "else",
    "repeat",
    "while",
    "max",
    "unlock",
    "rdlock",
    "wrlock",
    "wait",
    "notify",
    "notifyall",
    "post",
    "take",
    "fork",
    "join",
    "fence",
    "assert",
    "error",
    "call",
    "atomic",
    "skip",
    "true",
    "false",
    "return",
    "break",
];

/// Blocks and expressions within each other, so that no text can exhaust the
/// stack.
const MOST_NESTED: u32 = 100;

pub(crate) fn parse(text: &str) -> Result<Tree> {
    let mut parser = Parser {
        text,
        tokens: tokens(text)?,
        next: 0,
        depth: 0,
    };
    parser.tree()
}

pub(super) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    next: usize,
    /// How many blocks and expressions are open.
    depth: u32,
}

impl<'a> Parser<'a> {
    pub(super) fn peek(&self) -> Token<'a> {
        self.tokens[self.next]
    }

    pub(super) fn advance(&mut self) -> Token<'a> {
        let token = self.peek();
        // The last token is the end, and stays.
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn is_next(&self, kind: Kind<'_>) -> bool {
        self.peek().kind == kind
    }

    pub(super) fn take_if(&mut self, kind: Kind<'_>) -> bool {
        let found = self.is_next(kind);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expected<T>(&self, what: &str) -> Result<T> {
        let token = self.peek();
        let found = match token.kind {
            Kind::End => "the end of the text".to_owned(),
            Kind::Separator => "the end of the statement".to_owned(),
            _ => format!("`{}`", &self.text[token.start..token.end]),
        };
        let what = format!("expected {what}, found {found}");
        Err(NotationError::new(token.at, what))
    }

    pub(super) fn sign(&mut self, sign: &'static str) -> Result<Position> {
        if self.is_next(Kind::Sign(sign)) {
            return Ok(self.advance().at);
        }
        self.expected(&format!("`{sign}`"))
    }

    fn skip_separators(&mut self) {
        while self.take_if(Kind::Separator) {}
    }

    pub(super) fn name(&mut self, what: &str) -> Result<Name> {
        let token = self.peek();
        match token.kind {
            Kind::Word(word) if KEYWORDS.contains(&word) => {
                let what = format!("`{word}` is a keyword and cannot be {what}");
                Err(NotationError::new(token.at, what))
            }
            Kind::Word(word) => {
                self.advance();
                Ok(Name {
                    text: word.to_owned(),
                    at: token.at,
                })
            }
            _ => self.expected(what),
        }
    }

    fn integer(&mut self, what: &str) -> Result<i64> {
        let negative = self.take_if(Kind::Sign("-"));
        match self.peek().kind {
            Kind::Integer(value) => {
                self.advance();
                Ok(if negative { -value } else { value })
            }
            _ => self.expected(what),
        }
    }

    fn count(&mut self, what: &str) -> Result<u32> {
        let at = self.peek().at;
        let value = self.integer(what)?;
        u32::try_from(value).map_err(|_| NotationError::new(at, format!("{value} is not {what}")))
    }

    fn tree(&mut self) -> Result<Tree> {
        let mut tree = Tree {
            declarations: Vec::new(),
            functions: Vec::new(),
            threads: Vec::new(),
        };
        loop {
            self.skip_separators();
            let token = self.peek();
            let Kind::Word(word) = token.kind else {
                if token.kind == Kind::End {
                    return Ok(tree);
                }
                return self.expected("a declaration or a thread");
            };
            match word {
                "thread" => tree.threads.push(self.body("a thread's name")?),
                "fn" => tree.functions.push(self.body("a function's name")?),
                _ => self.declaration(&mut tree.declarations)?,
            }
            if !matches!(self.peek().kind, Kind::Separator | Kind::End) {
                return self.expected("a new line or `;`");
            }
        }
    }

    fn body(&mut self, what: &str) -> Result<Body> {
        let at = self.advance().at;
        let name = self.name(what)?;
        let block = self.block()?;
        Ok(Body { at, name, block })
    }

    fn declaration(&mut self, declarations: &mut Vec<Declaration>) -> Result<()> {
        let Kind::Word(mut keyword) = self.peek().kind else {
            return self.expected("a declaration");
        };
        let kinds = [
            "var",
            "volatile",
            "lock",
            "recursive",
            "rwlock",
            "cond",
            "semaphore",
            "barrier",
        ];
        if !kinds.contains(&keyword) {
            return self.expected("a declaration or a thread");
        }
        self.advance();
        if keyword == "recursive" {
            if !self.take_if(Kind::Word("lock")) {
                return self.expected("`lock`");
            }
            keyword = "recursive lock";
        }
        let first = declarations.len();
        loop {
            let name = self.name("a name")?;
            let given = self.take_if(Kind::Sign("="));
            let what = match keyword {
                "var" | "volatile" => Declared::Variable {
                    initial: if given { self.integer("a number")? } else { 0 },
                    volatile: keyword == "volatile",
                },
                "semaphore" => Declared::Semaphore {
                    initial: if given {
                        i64::from(self.count("a semaphore's value")?)
                    } else {
                        0
                    },
                },
                "barrier" if given => {
                    let at = self.peek().at;
                    let size = self.count("a number of threads")?;
                    if size == 0 {
                        let what = "a barrier waits for at least one thread";
                        return Err(NotationError::new(at, what));
                    }
                    Declared::Barrier { size }
                }
                "barrier" => {
                    let what = format!(
                        "barrier `{0}` needs a number of threads: `barrier {0} = 2`",
                        name.text
                    );
                    return Err(NotationError::new(name.at, what));
                }
                _ if given => {
                    let what = format!("a {keyword} has no value");
                    return Err(NotationError::new(name.at, what));
                }
                "rwlock" => Declared::RwLock,
                "cond" => Declared::Condition,
                _ => Declared::Lock {
                    recursive: keyword == "recursive lock",
                },
            };
            let class = None;
            declarations.push(Declaration { name, what, class });
            if !self.take_if(Kind::Sign(",")) {
                break;
            }
        }
        if keyword.ends_with("lock") && self.take_if(Kind::Word("of")) {
            let class = self.name("a class")?;
            for declaration in &mut declarations[first..] {
                declaration.class = Some(class.clone());
            }
        }
        Ok(())
    }

    /// One level deeper.
    pub(super) fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == MOST_NESTED {
            let what = format!("nested more than {MOST_NESTED} deep");
            return Err(NotationError::new(self.peek().at, what));
        }
        self.depth += 1;
        let result = rule(self)?;
        self.depth -= 1;
        Ok(result)
    }

    fn block(&mut self) -> Result<Block> {
        self.nested(Self::block_inside)
    }

    fn block_inside(&mut self) -> Result<Block> {
        self.sign("{")?;
        let mut statements = Vec::new();
        loop {
            self.skip_separators();
            let token = self.peek();
            if self.take_if(Kind::Sign("}")) {
                return Ok(Block {
                    statements,
                    end: token.at,
                });
            }
            if token.kind == Kind::End {
                return self.expected("a statement or `}`");
            }
            statements.push(self.statement()?);
            let ends = [Kind::Separator, Kind::Sign("}")];
            if !ends.contains(&self.peek().kind) {
                return self.expected("a new line, `;` or `}`");
            }
        }
    }

    fn statement(&mut self) -> Result<Statement> {
        let label = self.label();
        let first = self.peek();
        let from = self.next;
        let action = self.action()?;
        // The text ends where a block of the statement begins.
        let brace = self.tokens[from..self.next]
            .iter()
            .position(|token| token.kind == Kind::Sign("{"));
        let last = brace.map_or(self.next, |i| from + i) - 1;
        let text = &self.text[first.start..self.tokens[last].end];
        Ok(Statement {
            label,
            at: first.at,
            text: text.to_owned(),
            action,
        })
    }

    /// `A:`, or a number as in the papers' figures.
    fn label(&mut self) -> Option<Name> {
        let token = self.peek();
        let colon = self.tokens.get(self.next + 1)?.kind == Kind::Sign(":");
        if !colon || !matches!(token.kind, Kind::Word(_) | Kind::Integer(_)) {
            return None;
        }
        self.advance();
        self.advance();
        Some(Name {
            text: self.text[token.start..token.end].to_owned(),
            at: token.at,
        })
    }

    fn action(&mut self) -> Result<Action> {
        let Kind::Word(word) = self.peek().kind else {
            return self.expected("a statement");
        };
        if !KEYWORDS.contains(&word) {
            return self.assignment();
        }
        let keyword = self.advance();
        Ok(match word {
            "read" => Action::Read(self.name("a variable")?),
            "if" => self.branch()?,
            "repeat" => Action::Repeat {
                times: self.count("a number of times")?,
                body: self.block()?,
            },
            "while" => {
                let condition = self.expression()?;
                if !self.take_if(Kind::Word("max")) {
                    return self.expected("`max` and a bound");
                }
                let max = self.count("a number of times")?;
                let body = self.block()?;
                Action::While {
                    condition,
                    max,
                    body,
                }
            }
            "atomic" => Action::AtomicBlock(self.block()?),
            "lock" => Action::Lock(self.name("a lock")?),
            "rdlock" => Action::ReadLock(self.name("a rwlock")?),
            "wrlock" => Action::WriteLock(self.name("a rwlock")?),
            "unlock" => Action::Unlock(self.name("a lock")?),
            "wait" => Action::Wait {
                condition: self.name("a condition")?,
                lock: self.name("a lock")?,
            },
            "notify" => Action::Notify(self.name("a condition")?),
            "notifyall" => Action::NotifyAll(self.name("a condition")?),
            "post" => Action::Post(self.name("a semaphore")?),
            "take" => Action::Take(self.name("a semaphore")?),
            "barrier" => Action::Barrier(self.name("a barrier")?),
            "fork" => Action::Fork(self.name("a thread")?),
            "join" => Action::Join(self.name("a thread")?),
            "call" => Action::Call(self.name("a function")?),
            "assert" => Action::Assert(self.expression()?),
            "error" => Action::Error(self.name("an error's name")?),
            "fence" => {
                self.sign("(")?;
                let order = self.memory_order()?;
                self.sign(")")?;
                Action::Fence(order)
            }
            "skip" => match self.peek().kind {
                Kind::Integer(_) => Action::Skip(self.count("a number of steps")?),
                _ => Action::Skip(1),
            },
            _ => {
                let what = format!("`{word}` does not begin a statement");
                return Err(NotationError::new(keyword.at, what));
            }
        })
    }

    fn branch(&mut self) -> Result<Action> {
        let condition = self.expression()?;
        let then = self.block()?;
        let before = self.next;
        self.skip_separators();
        let otherwise = if self.take_if(Kind::Word("else")) {
            Some(self.block()?)
        } else {
            self.next = before;
            None
        };
        Ok(Action::If {
            condition,
            then,
            otherwise,
        })
    }

    /// `x = …`, or an atomic operation whose result nobody wants.
    fn assignment(&mut self) -> Result<Action> {
        let name = self.name("a variable")?;
        if self.is_next(Kind::Sign(".")) {
            let atomic = self.atomic(name)?;
            return Ok(Action::Atomic {
                target: None,
                atomic,
            });
        }
        if !self.take_if(Kind::Sign("=")) {
            return self.expected("`=` or `.`");
        }
        let method_follows = matches!(self.peek().kind, Kind::Word(_))
            && self.tokens[self.next + 1].kind == Kind::Sign(".");
        if !method_follows {
            return Ok(Action::Assign {
                target: name,
                value: self.expression()?,
            });
        }
        let variable = self.name("a variable")?;
        let at = self.peek().at;
        let atomic = self.atomic(variable)?;
        if matches!(atomic.method, Method::Store(_)) {
            return Err(NotationError::new(at, "a store has no result"));
        }
        Ok(Action::Atomic {
            target: Some(name),
            atomic,
        })
    }

    fn atomic(&mut self, variable: Name) -> Result<Atomic> {
        self.sign(".")?;
        let token = self.advance();
        let Kind::Word(word) = token.kind else {
            self.next -= 1;
            return self.expected("load, store, add, swap or cas");
        };
        self.sign("(")?;
        let method = match word {
            "load" => Method::Load,
            "store" => Method::Store(self.argument()?),
            "add" => Method::Add(self.argument()?),
            "swap" => Method::Swap(self.argument()?),
            "cas" => Method::CompareAndSwap {
                old: self.argument()?,
                new: self.argument()?,
            },
            _ => {
                let what = format!("there is no `{word}`: load, store, add, swap and cas are");
                return Err(NotationError::new(token.at, what));
            }
        };
        let order = self.memory_order()?;
        self.sign(")")?;
        Ok(Atomic {
            variable,
            method,
            order,
        })
    }

    fn argument(&mut self) -> Result<Expression> {
        let value = self.expression()?;
        self.sign(",")?;
        Ok(value)
    }

    fn memory_order(&mut self) -> Result<MemoryOrder> {
        let named = |order: &MemoryOrder| self.is_next(Kind::Word(order.name()));
        match MemoryOrder::ALL.into_iter().find(named) {
            Some(order) => {
                self.advance();
                Ok(order)
            }
            None => self.expected("relaxed, acquire, release, acq_rel or seq_cst"),
        }
    }
}
