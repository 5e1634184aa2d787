// Trait objects, closures, iterators, strings and generic code, as Rust programs are made of.
use std::collections::BTreeMap;
use std::fmt::{self, Display};

trait Shape {
    fn area(&self) -> f64;
    fn name(&self) -> String {
        format!("shape of {:.2}", self.area())
    }
}
struct Circle(f64);
struct Square(f64);
impl Shape for Circle {
    #[inline(never)]
    fn area(&self) -> f64 {
        leaf(self.0).sqrt() * 3.0
    }
}
impl Shape for Square {
    fn area(&self) -> f64 {
        leaf(self.0) * self.0
    }
    fn name(&self) -> String {
        "square".to_string()
    }
}
impl Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "({:>8.3})", self.0)
    }
}
#[inline(never)]
fn leaf(a: f64) -> f64 {
    std::hint::black_box(a + 1.0)
}
#[inline(never)]
fn total(shapes: &[Box<dyn Shape>]) -> f64 {
    shapes.iter().map(|s| s.area() + s.name().len() as f64).sum()
}
#[inline(never)]
fn apply(f: &dyn Fn(u64) -> u64, n: u64) -> u64 {
    f(n) + f(n + 1)
}
#[inline(never)]
fn parse(s: &str) -> Result<i64, std::num::ParseIntError> {
    let mut t = 0;
    for w in s.split_whitespace() {
        t += w.parse::<i64>()?;
    }
    Ok(t)
}
enum Tree {
    Leaf,
    Node(Box<Tree>, u64, Box<Tree>),
}
#[inline(never)]
fn insert(t: Tree, v: u64) -> Tree {
    match t {
        Tree::Leaf => Tree::Node(Box::new(Tree::Leaf), v, Box::new(Tree::Leaf)),
        Tree::Node(l, x, r) if v < x => Tree::Node(Box::new(insert(*l, v)), x, r),
        Tree::Node(l, x, r) => Tree::Node(l, x, Box::new(insert(*r, v))),
    }
}
#[inline(never)]
fn depth(t: &Tree) -> usize {
    match t {
        Tree::Leaf => 0,
        Tree::Node(l, _, r) => 1 + depth(l).max(depth(r)),
    }
}
#[inline(never)]
fn big(n: usize) -> usize {
    let b = std::hint::black_box([n as u8; 40000]);
    b.iter().map(|&x| x as usize).sum::<usize>() + leaf(n as f64) as usize
}

fn main() {
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Circle(2.0)), Box::new(Square(3.0)), Box::new(Circle(0.5))];
    let k = 7;
    let mut n = total(&shapes) as u64 + apply(&|a| a * k + leaf(1.0) as u64, 3);
    n += parse("1 22 333").unwrap_or(0) as u64 + parse("1 x").is_err() as u64;
    let mut t = Tree::Leaf;
    for i in 0..20 {
        t = insert(t, i * 7 % 20);
    }
    let mut words: BTreeMap<&str, usize> = BTreeMap::new();
    for w in "the quick brown fox the lazy dog the end".split(' ') {
        *words.entry(w).or_default() += 1;
    }
    n += depth(&t) as u64 + words.values().sum::<usize>() as u64 + format!("{} {:?}", Circle(1.5), words).len() as u64 + big(3) as u64;
    std::process::exit((n == 12345) as i32);
}
