// Panics that unwind through frames with destructors, are caught, and cross threads.
use std::collections::HashMap;
use std::panic;

struct Guard(u32, Vec<u32>);
impl Drop for Guard {
    #[inline(never)]
    fn drop(&mut self) {
        self.1.push(leaf(self.0));
        std::hint::black_box(&self.1);
    }
}
#[inline(never)]
fn leaf(a: u32) -> u32 {
    std::hint::black_box(a.wrapping_mul(3))
}
#[inline(never)]
fn fails(n: u32) -> u32 {
    let g = Guard(n, vec![n; 3]);
    if n % 3 == 0 {
        panic!("number {}", n);
    }
    leaf(g.1[0])
}
#[inline(never)]
fn deep(n: u32) -> u32 {
    let g = Guard(n, Vec::new());
    if n == 0 {
        fails(3)
    } else {
        deep(n - 1) + leaf(g.0)
    }
}
#[inline(never)]
fn caught(n: u32) -> u32 {
    panic::catch_unwind(|| deep(n)).unwrap_or_else(|e| e.downcast_ref::<String>().map_or(1, |s| leaf(s.len() as u32)))
}
#[inline(never)]
fn indexed(v: &[u32], i: usize) -> u32 {
    v[std::hint::black_box(i)]
}
#[inline(never)]
fn counted(n: u32) -> usize {
    let mut m: HashMap<String, u32> = HashMap::new();
    for i in 0..n {
        *m.entry(format!("key{}", i * 7 % 11)).or_insert(0) += leaf(i);
    }
    let mut keys: Vec<_> = m.into_iter().collect();
    keys.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    keys.iter().map(|k| k.0.len()).sum()
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let mut total = 0;
    for i in 1..5 {
        total += caught(i) as usize + counted(i * 5);
        total += panic::catch_unwind(|| indexed(&[1, 2, 3], i as usize + 1)).unwrap_or(7) as usize;
    }
    let threads: Vec<_> = (0..2).map(|i| std::thread::spawn(move || deep(i))).collect();
    for t in threads {
        total += t.join().is_err() as usize;
    }
    std::process::exit((total == 12345) as i32);
}
