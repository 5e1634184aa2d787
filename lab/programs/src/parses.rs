// A small language: scanner, parser by recursive descent, tree of boxes, evaluation with errors, results sorted and shared; and a panic that is caught after values were dropped.
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

#[derive(Debug, Clone)]
enum Tree {
    Number(i64),
    Name(String),
    Binary(Box<Tree>, char, Box<Tree>),
    Let(String, Box<Tree>, Box<Tree>),
    Call(String, Vec<Tree>),
}
#[derive(Debug)]
enum Failure {
    End,
    Odd(char),
    Unknown(String),
    Zero,
}
type Answer<T> = Result<T, Failure>;
struct Parser<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
}
impl<'a> Parser<'a> {
    #[inline(never)]
    fn space(&mut self) {
        while self.rest.next_if(|c| c.is_whitespace()).is_some() {}
    }
    #[inline(never)]
    fn word(&mut self) -> String {
        let mut s = String::new();
        while let Some(c) = self.rest.next_if(|c| c.is_alphanumeric()) {
            s.push(c)
        }
        self.space();
        s
    }
    fn sum(&mut self) -> Answer<Tree> {
        let mut t = self.product()?;
        while let Some(c) = self.rest.next_if(|c| "+-".contains(*c)) {
            self.space();
            t = Tree::Binary(Box::new(t), c, Box::new(self.product()?))
        }
        Ok(t)
    }
    fn product(&mut self) -> Answer<Tree> {
        let mut t = self.atom()?;
        while let Some(c) = self.rest.next_if(|c| "*/".contains(*c)) {
            self.space();
            t = Tree::Binary(Box::new(t), c, Box::new(self.atom()?))
        }
        Ok(t)
    }
    fn atom(&mut self) -> Answer<Tree> {
        match self.rest.peek().copied() {
            None => Err(Failure::End),
            Some('(') => {
                self.rest.next();
                self.space();
                let t = self.sum()?;
                self.rest.next();
                self.space();
                Ok(t)
            }
            Some(c) if c.is_ascii_digit() => Ok(Tree::Number(self.word().parse().unwrap_or(0))),
            Some(c) if c.is_alphabetic() => {
                let w = self.word();
                if w == "let" {
                    let n = self.word();
                    self.rest.next();
                    self.space();
                    let v = self.sum()?;
                    self.rest.next();
                    self.space();
                    return Ok(Tree::Let(n, Box::new(v), Box::new(self.sum()?)));
                }
                if self.rest.peek() == Some(&'(') {
                    self.rest.next();
                    let mut a = vec![];
                    while self.rest.peek() != Some(&')') {
                        a.push(self.sum()?);
                        self.rest.next_if(|c| *c == ',');
                        self.space();
                    }
                    self.rest.next();
                    self.space();
                    return Ok(Tree::Call(w, a));
                }
                Ok(Tree::Name(w))
            }
            Some(c) => Err(Failure::Odd(c)),
        }
    }
}
type Function = Rc<dyn Fn(&[i64]) -> Answer<i64>>;
struct World {
    names: RefCell<HashMap<String, i64>>,
    functions: HashMap<&'static str, Function>,
}
impl World {
    #[inline(never)]
    fn value(&self, t: &Tree) -> Answer<i64> {
        Ok(match t {
            Tree::Number(n) => *n,
            Tree::Name(n) => *self
                .names
                .borrow()
                .get(n)
                .ok_or_else(|| Failure::Unknown(n.clone()))?,
            Tree::Binary(a, op, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                match op {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    _ => a.checked_div(b).ok_or(Failure::Zero)?,
                }
            }
            Tree::Let(n, v, t) => {
                let v = self.value(v)?;
                let old = self.names.borrow_mut().insert(n.clone(), v);
                let r = self.value(t);
                if let Some(o) = old {
                    self.names.borrow_mut().insert(n.clone(), o);
                }
                r?
            }
            Tree::Call(f, a) => {
                let a: Answer<Vec<i64>> = a.iter().map(|x| self.value(x)).collect();
                self.functions
                    .get(f.as_str())
                    .ok_or_else(|| Failure::Unknown(f.clone()))?(&a?)?
            }
        })
    }
}
#[inline(never)]
fn run(w: &World, s: &str) -> Answer<i64> {
    let mut p = Parser {
        rest: s.chars().peekable(),
    };
    p.space();
    let t = p.sum()?;
    w.value(&t.clone())
}
struct Noisy(Rc<RefCell<Vec<String>>>, i64);
impl Drop for Noisy {
    #[inline(never)]
    fn drop(&mut self) {
        self.0.borrow_mut().push(format!("dropped {}", self.1))
    }
}
#[inline(never)]
fn risky(log: &Rc<RefCell<Vec<String>>>, n: i64) -> i64 {
    let _n = Noisy(log.clone(), n);
    if n == 0 {
        std::panic::resume_unwind(Box::new("end"))
    }
    risky(log, n - 1) + n
}
fn main() {
    let mut functions: HashMap<&'static str, Function> = HashMap::new();
    functions.insert(
        "max",
        Rc::new(|a| a.iter().copied().max().ok_or(Failure::End)),
    );
    functions.insert("sum", Rc::new(|a| Ok(a.iter().sum())));
    functions.insert(
        "digits",
        Rc::new(|a| Ok(a.iter().map(|n| n.to_string().len() as i64).sum())),
    );
    let w = World {
        names: RefCell::new(HashMap::new()),
        functions,
    };
    let mut all: Vec<String> = [
        "1+2*3",
        "let x = 4; x*x - digits(x*100, 7)",
        "max(1, sum(2,3), (4))",
        "7/0",
        "y",
        "2*",
        "#",
    ]
    .iter()
    .map(|s| format!("{} = {:?}", s, run(&w, s)))
    .collect();
    all.sort_by_key(|s| std::cmp::Reverse(s.len()));
    let log = Rc::new(RefCell::new(vec![]));
    let r = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| risky(&log, 4)));
    println!("{:?} {} {:?}", all, r.is_err(), log.borrow());
}
