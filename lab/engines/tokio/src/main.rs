// SPDX-License-Identifier: Apache-2.0

//! The workloads of src/actor/workloads_bench.cpp in Rust with tokio: an actor is a task and the
//! unbounded channel that it reads.
//!
//!   workloads WORKLOAD [--smoke] [--workers N]
//!
//! One line: name, million messages (actors) a second, peak resident memory in kB; for idle the
//! bytes that one actor with one sender to it costs instead of a rate.
//!
//! Choices: the runtime has neither the I/O nor the time driver, so a worker that sleeps does not
//! go through epoll. The wall takes its messages in batches. The allocator is the system's.

use std::process::exit;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::Thread;
use std::time::Instant;

use tokio::runtime::Runtime;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};

/// Lets the thread that made it wait until something was counted down to zero.
struct Latch {
    left: AtomicUsize,
    waits: Thread,
}

impl Latch {
    fn new(left: usize) -> Arc<Latch> {
        Arc::new(Latch {
            left: AtomicUsize::new(left),
            waits: std::thread::current(),
        })
    }

    fn count_down(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.waits.unpark();
        }
    }

    fn wait(&self) {
        while self.left.load(Ordering::Acquire) != 0 {
            std::thread::park();
        }
    }
}

// A send fails when the receiver has gone, which happens only as the runtime shuts down.

// ── pingpong, pairs, ring ───────────────────────────────────────────────────────────────────────

async fn player(mut balls: UnboundedReceiver<u64>, other: UnboundedSender<u64>, done: Arc<Latch>) {
    while let Some(left) = balls.recv().await {
        if left == 0 {
            done.count_down();
        } else {
            let _ = other.send(left - 1);
        }
    }
}

/// Starts players; `next` tells which one each of them sends to.
fn players(
    runtime: &Runtime,
    count: usize,
    next: impl Fn(usize) -> usize,
    done: &Arc<Latch>,
) -> Vec<UnboundedSender<u64>> {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..count).map(|_| unbounded_channel()).unzip();
    for (i, balls) in receivers.into_iter().enumerate() {
        runtime.spawn(player(balls, senders[next(i)].clone(), done.clone()));
    }
    senders
}

fn play(runtime: &Runtime, pairs: usize, balls_per_pair: usize, messages: usize) -> f64 {
    let hops = messages / (pairs * balls_per_pair);
    let done = Latch::new(pairs * balls_per_pair);
    let players = players(runtime, 2 * pairs, |i| i ^ 1, &done);
    let began = Instant::now();
    for pair in players.chunks(2) {
        for player in &pair[..balls_per_pair] {
            let _ = player.send(hops as u64);
        }
    }
    done.wait();
    (hops * pairs * balls_per_pair) as f64 / began.elapsed().as_secs_f64()
}

fn pingpong(runtime: &Runtime, divide_by: usize) -> f64 {
    play(runtime, 1, 1, 4_000_000 / divide_by)
}

fn pairs(runtime: &Runtime, divide_by: usize) -> f64 {
    play(runtime, 25_000 / divide_by, 2, 10_000_000 / divide_by)
}

fn ring(runtime: &Runtime, divide_by: usize) -> f64 {
    let count = 10_000 / divide_by;
    let hops = 10_000_000 / divide_by;
    let done = Latch::new(1);
    let players = players(runtime, count, |i| (i + 1) % count, &done);
    let began = Instant::now();
    let _ = players[0].send(hops as u64);
    done.wait();
    hops as f64 / began.elapsed().as_secs_f64()
}

// ── wall ────────────────────────────────────────────────────────────────────────────────────────

struct Hit;

/// What an actor that gets very many messages takes from its channel at once.
const BATCH: usize = 256;

async fn wall_player(mut hits: UnboundedReceiver<Hit>, wall: UnboundedSender<Hit>) {
    while let Some(hit) = hits.recv().await {
        let _ = wall.send(hit);
    }
}

async fn wall(
    mut hits: UnboundedReceiver<Hit>,
    players: Vec<UnboundedSender<Hit>>,
    mut left: usize,
    done: Arc<Latch>,
) {
    let mut random = 88172645463325252u64;
    let mut batch = Vec::with_capacity(BATCH);
    while hits.recv_many(&mut batch, BATCH).await != 0 {
        for hit in batch.drain(..) {
            left -= 1;
            if left == 0 {
                done.count_down();
                return;
            }
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let _ = players[(random % players.len() as u64) as usize].send(hit);
        }
    }
}

fn wall_of_players(runtime: &Runtime, divide_by: usize) -> f64 {
    let messages = 10_000_000 / divide_by;
    let done = Latch::new(1);
    let (middle, hits) = unbounded_channel();
    let players: Vec<_> = (0..50_000 / divide_by)
        .map(|_| {
            let (player, hits) = unbounded_channel();
            runtime.spawn(wall_player(hits, middle.clone()));
            player
        })
        .collect();
    runtime.spawn(wall(hits, players.clone(), messages / 2, done.clone()));
    let began = Instant::now();
    for player in &players {
        let _ = player.send(Hit);
    }
    done.wait();
    messages as f64 / began.elapsed().as_secs_f64()
}

// ── spawn ───────────────────────────────────────────────────────────────────────────────────────

struct Question {
    to: UnboundedSender<u64>,
    value: u64,
}

async fn short_lived(mut questions: UnboundedReceiver<Question>) {
    // Ends when nobody can send to it any more.
    while let Some(question) = questions.recv().await {
        let _ = question.to.send(question.value);
    }
}

async fn collector(count: usize, done: Arc<Latch>) {
    let (to, mut answers) = unbounded_channel();
    for i in 0..count {
        let (actor, questions) = unbounded_channel();
        tokio::spawn(short_lived(questions));
        let _ = actor.send(Question {
            to: to.clone(),
            value: i as u64,
        });
        // Or a million tasks pile up in the runtime's queues: this is faster, and takes less
        // memory.
        if i % 64 == 63 {
            tokio::task::yield_now().await;
        }
    }
    let mut sum = 0;
    for _ in 0..count {
        sum += answers.recv().await.unwrap();
    }
    assert_eq!(sum, (count * (count - 1) / 2) as u64);
    done.count_down();
}

fn spawn(runtime: &Runtime, divide_by: usize) -> f64 {
    let count = 1_000_000 / divide_by;
    let done = Latch::new(1);
    let began = Instant::now();
    runtime.spawn(collector(count, done.clone()));
    done.wait();
    count as f64 / began.elapsed().as_secs_f64()
}

// ── idle ────────────────────────────────────────────────────────────────────────────────────────

async fn idler(mut answers: UnboundedReceiver<u64>, started: Arc<Latch>) {
    let mut state = [0u64; 2];
    started.count_down();
    drop(started);
    while let Some(answer) = answers.recv().await {
        state[0] += answer;
        std::hint::black_box(&state);
    }
}

fn idle(runtime: &Runtime, divide_by: usize) -> f64 {
    let count = 1_000_000 / divide_by;
    let started = Latch::new(count);
    let before = rss_bytes();
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        let (actor, answers) = unbounded_channel();
        runtime.spawn(idler(answers, started.clone()));
        all.push(actor);
    }
    started.wait(); // it is idle when it waits for a message
    (rss_bytes() - before) / count as f64
}

// ── The program ─────────────────────────────────────────────────────────────────────────────────

fn rss_bytes() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    4096.0 * text.split(' ').nth(1).unwrap().parse::<f64>().unwrap()
}

fn peak_rss_kb() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

type Workload = fn(&Runtime, usize) -> f64;

fn find(name: &str) -> Option<Workload> {
    Some(match name {
        "pingpong" => pingpong,
        "pairs" => pairs,
        "wall" => wall_of_players,
        "ring" => ring,
        "spawn" => spawn,
        "idle" => idle,
        _ => return None,
    })
}

fn usage() -> ! {
    eprintln!("usage: workloads pingpong|pairs|wall|ring|spawn|idle [--smoke] [--workers 1..1024]");
    exit(2)
}

fn main() {
    let mut chosen = None;
    let mut divide_by = 1;
    let mut workers = 2;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--smoke" => divide_by = 100,
            "--workers" => match arguments.next().and_then(|n| n.parse().ok()) {
                Some(n @ 1..=1024) => workers = n,
                _ => usage(),
            },
            name if chosen.is_none() => match find(name) {
                Some(run) => chosen = Some((name.to_string(), run)),
                None => usage(),
            },
            _ => usage(),
        }
    }
    let Some((name, run)) = chosen else { usage() };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .build()
        .unwrap();
    let value = run(&runtime, divide_by);
    let value = if name == "idle" { value } else { value / 1e6 };
    println!("{name} {value:.2} {}", peak_rss_kb());
    exit(0); // without waiting for what is still under way
}
