// SPDX-License-Identifier: Apache-2.0

//! The workloads in Rust with tokio: an actor is a task and the channel that it reads, which is
//! unbounded except in the bounded form of fanin.
//!
//!   workloads WORKLOAD --workers N [--actors N] [--messages N] [--limit N] [--batch N]
//!
//! It prints one line: `METRIC UNIT VALUE`.
//!
//! Choices: the runtime has neither the I/O nor the time driver, so a sleeping worker does not use
//! epoll. Actors that receive very many messages take them in batches. The allocator is the
//! system's.

use std::process::exit;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::Thread;
use std::time::Instant;

use tokio::runtime::Runtime;
use tokio::sync::mpsc::{
    channel, unbounded_channel, Receiver, Sender, UnboundedReceiver, UnboundedSender,
};
use tokio::sync::oneshot;

/// Lets the thread that created it wait until a count has reached zero.
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

struct Sizes {
    workers: usize,
    actors: usize,
    messages: usize,
    limit: usize,
    batch: usize, // actors that the collector of spawn spawns in a turn
}

// A send fails when the receiver is gone, which happens only while the runtime shuts down.

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

/// Starts players; `next` returns the player to which each of them sends.
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

fn play(runtime: &Runtime, s: &Sizes, balls_per_pair: usize) -> f64 {
    let balls = s.actors / 2 * balls_per_pair;
    let hops = s.messages / balls;
    let done = Latch::new(balls);
    let players = players(runtime, s.actors / 2 * 2, |i| i ^ 1, &done);
    let began = Instant::now();
    for pair in players.chunks(2) {
        for player in &pair[..balls_per_pair] {
            let _ = player.send(hops as u64);
        }
    }
    done.wait();
    (hops * balls) as f64 / began.elapsed().as_secs_f64()
}

fn pingpong(runtime: &Runtime, s: &Sizes) -> f64 {
    play(runtime, s, 1)
}

fn pairs(runtime: &Runtime, s: &Sizes) -> f64 {
    play(runtime, s, 2)
}

fn ring(runtime: &Runtime, s: &Sizes) -> f64 {
    let done = Latch::new(1);
    let players = players(runtime, s.actors, |i| (i + 1) % s.actors, &done);
    let began = Instant::now();
    let _ = players[0].send(s.messages as u64);
    done.wait();
    s.messages as f64 / began.elapsed().as_secs_f64()
}

// ── ask ─────────────────────────────────────────────────────────────────────────────────────────

struct Ask {
    value: u64,
    answer: oneshot::Sender<u64>,
}

async fn teller(mut questions: UnboundedReceiver<Ask>) {
    while let Some(question) = questions.recv().await {
        let _ = question.answer.send(question.value + 1);
    }
}

/// One request at a time, without a time-out.
async fn client(to: UnboundedSender<Ask>, questions: u64, done: Arc<Latch>) {
    let mut value = 0;
    for _ in 0..questions {
        let (answer, answered) = oneshot::channel();
        let _ = to.send(Ask { value, answer });
        value = answered.await.unwrap();
    }
    assert_eq!(value, questions);
    done.count_down();
}

fn ask(runtime: &Runtime, s: &Sizes) -> f64 {
    let done = Latch::new(1);
    let (to, questions) = unbounded_channel();
    runtime.spawn(teller(questions));
    let began = Instant::now();
    runtime.spawn(client(to, s.messages as u64, done.clone()));
    done.wait();
    s.messages as f64 / began.elapsed().as_secs_f64()
}

// ── wall ────────────────────────────────────────────────────────────────────────────────────────

struct Hit;

/// The number of messages that an actor with very many of them takes from its channel at once.
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

fn wall_of_players(runtime: &Runtime, s: &Sizes) -> f64 {
    let done = Latch::new(1);
    let (middle, hits) = unbounded_channel();
    let players: Vec<_> = (0..s.actors)
        .map(|_| {
            let (player, hits) = unbounded_channel();
            runtime.spawn(wall_player(hits, middle.clone()));
            player
        })
        .collect();
    runtime.spawn(wall(hits, players.clone(), s.messages / 2, done.clone()));
    let began = Instant::now();
    for player in &players {
        let _ = player.send(Hit);
    }
    done.wait();
    s.messages as f64 / began.elapsed().as_secs_f64()
}

// ── fanin ───────────────────────────────────────────────────────────────────────────────────────

struct Item {
    #[allow(dead_code)] // a message has 16 bytes
    producer: u64,
    number: u64,
}

/// The messages of a producer.
fn items(producer: usize, count: usize) -> impl Iterator<Item = Item> {
    (0..count).map(move |i| Item {
        producer: producer as u64,
        number: i as u64,
    })
}

async fn unbounded_producer(to: UnboundedSender<Item>, producer: usize, count: usize) {
    for (i, item) in items(producer, count).enumerate() {
        let _ = to.send(item);
        let_others_run(i, 64).await;
    }
}

async fn bounded_producer(to: Sender<Item>, producer: usize, count: usize) {
    for item in items(producer, count) {
        let _ = to.send(item).await;
    }
}

/// Adds up the messages until all producers have ended.
async fn unbounded_consumer(mut items: UnboundedReceiver<Item>, sum: Arc<AtomicU64>) {
    let mut batch = Vec::with_capacity(BATCH);
    while items.recv_many(&mut batch, BATCH).await != 0 {
        add(&mut batch, &sum);
    }
}

async fn bounded_consumer(mut items: Receiver<Item>, sum: Arc<AtomicU64>) {
    let mut batch = Vec::with_capacity(BATCH);
    while items.recv_many(&mut batch, BATCH).await != 0 {
        add(&mut batch, &sum);
    }
}

fn add(batch: &mut Vec<Item>, sum: &AtomicU64) {
    let more: u64 = batch.drain(..).map(|item| item.number).sum();
    sum.fetch_add(more, Ordering::Relaxed);
}

fn fanin(runtime: &Runtime, s: &Sizes) -> f64 {
    let each = s.messages / s.actors;
    let sum = Arc::new(AtomicU64::new(0));
    let began;
    let consumer;
    if s.limit == 0 {
        let (to, items) = unbounded_channel();
        consumer = runtime.spawn(unbounded_consumer(items, sum.clone()));
        began = Instant::now();
        for i in 0..s.actors {
            runtime.spawn(unbounded_producer(to.clone(), i, each));
        }
    } else {
        let (to, items) = channel(s.limit);
        consumer = runtime.spawn(bounded_consumer(items, sum.clone()));
        began = Instant::now();
        for i in 0..s.actors {
            runtime.spawn(bounded_producer(to.clone(), i, each));
        }
    }
    runtime.block_on(consumer).unwrap();
    let rate = (each * s.actors) as f64 / began.elapsed().as_secs_f64();
    let expected = s.actors * (each * (each - 1) / 2);
    assert_eq!(sum.load(Ordering::Relaxed), expected as u64);
    rate
}

// ── spawn ───────────────────────────────────────────────────────────────────────────────────────

/// Yields at intervals in a loop that never waits. Otherwise a million tasks, or messages,
/// accumulate; this is faster, and takes less memory.
async fn let_others_run(i: usize, batch: usize) {
    if i % batch == batch - 1 {
        tokio::task::yield_now().await;
    }
}

struct Question {
    to: UnboundedSender<u64>,
    value: u64,
}

async fn short_lived(mut questions: UnboundedReceiver<Question>) {
    // Ends when all senders are gone.
    while let Some(question) = questions.recv().await {
        let _ = question.to.send(question.value);
    }
}

async fn collector(count: usize, batch: usize, done: Arc<Latch>) {
    let (to, mut answers) = unbounded_channel();
    for i in 0..count {
        let (actor, questions) = unbounded_channel();
        tokio::spawn(short_lived(questions));
        let _ = actor.send(Question {
            to: to.clone(),
            value: i as u64,
        });
        let_others_run(i, batch).await;
    }
    let mut sum = 0;
    for _ in 0..count {
        sum += answers.recv().await.unwrap();
    }
    assert_eq!(sum, (count * (count - 1) / 2) as u64);
    done.count_down();
}

fn spawn(runtime: &Runtime, s: &Sizes) -> f64 {
    let done = Latch::new(1);
    let began = Instant::now();
    runtime.spawn(collector(s.actors, s.batch, done.clone()));
    done.wait();
    s.actors as f64 / began.elapsed().as_secs_f64()
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

fn idle(runtime: &Runtime, s: &Sizes) -> f64 {
    let started = Latch::new(s.actors);
    let before = rss_bytes();
    let mut all = Vec::with_capacity(s.actors);
    for _ in 0..s.actors {
        let (actor, answers) = unbounded_channel();
        runtime.spawn(idler(answers, started.clone()));
        all.push(actor);
    }
    started.wait(); // it is idle when it waits for a message
    (rss_bytes() - before) / s.actors as f64
}

// ── The program ─────────────────────────────────────────────────────────────────────────────────

fn rss_bytes() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    4096.0 * text.split(' ').nth(1).unwrap().parse::<f64>().unwrap()
}

type Workload = fn(&Runtime, &Sizes) -> f64;

fn find(name: &str) -> Option<Workload> {
    Some(match name {
        "pingpong" => pingpong,
        "ask" => ask,
        "pairs" => pairs,
        "wall" => wall_of_players,
        "ring" => ring,
        "fanin" => fanin,
        "spawn" => spawn,
        "idle" => idle,
        _ => return None,
    })
}

fn read(arguments: &[String]) -> Option<(Workload, Sizes)> {
    let run = find(arguments.first()?)?;
    let mut sizes = Sizes {
        workers: 0,
        actors: 0,
        messages: 0,
        limit: 0,
        batch: 64,
    };
    for option in arguments[1..].chunks(2) {
        let size = match option[0].as_str() {
            "--workers" => &mut sizes.workers,
            "--actors" => &mut sizes.actors,
            "--messages" => &mut sizes.messages,
            "--limit" => &mut sizes.limit,
            "--batch" => &mut sizes.batch,
            _ => return None,
        };
        *size = option.get(1)?.parse().ok()?;
    }
    (sizes.workers != 0).then_some((run, sizes))
}

fn start_runtime(sizes: &Sizes) -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(sizes.workers)
        .build()
        .unwrap()
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let Some((run, sizes)) = read(&arguments) else {
        eprintln!(
            "usage: workloads WORKLOAD --workers N [--actors N] [--messages N] [--limit N] \
             [--batch N]"
        );
        exit(2)
    };
    if arguments[0] != "idle" {
        // The second run is measured. Dropping the runtime ends the tasks of the first one.
        let runtime = start_runtime(&sizes);
        run(&runtime, &sizes);
    }
    let runtime = start_runtime(&sizes);
    let value = run(&runtime, &sizes);
    let what = match arguments[0].as_str() {
        "idle" => "bytes_per_actor bytes",
        "spawn" => "rate actors/s",
        _ => "rate messages/s",
    };
    println!("{what} {value}");
    exit(0); // does not wait for work in progress
}
