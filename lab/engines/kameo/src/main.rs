// SPDX-License-Identifier: Apache-2.0

//! The workloads in kameo: an actor is a tokio task, and its mailbox is a channel of tokio, which is
//! unbounded except in the bounded form of fanin.
//!
//!   workloads WORKLOAD --workers N [--actors N] [--messages N] [--limit N] [--batch N]
//!
//! It prints one line: `METRIC UNIT VALUE`.
//!
//! Choices: a handler sends with try_send(), which does not wait and never fails in an unbounded
//! mailbox; only a producer of the bounded form of fanin awaits its sends. The feature for tracing
//! is off. kameo's requests can have a time-out of tokio, so the runtime has the time driver. The
//! allocator is the system's.

use std::process::exit;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::Thread;
use std::time::{Duration, Instant};

use kameo::actor::{ActorRef, Recipient, Spawn};
use kameo::error::Infallible;
use kameo::mailbox;
use kameo::message::{Context, Message};
use kameo::Actor;
use tokio::runtime::Runtime;

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

fn start<A: Actor<Args = A> + Spawn>(actor: A) -> ActorRef<A> {
    A::spawn_with_mailbox(actor, mailbox::unbounded())
}

// A send fails when the receiver has stopped, which happens only while the runtime shuts down.
fn tell<A: Message<M>, M: Send + 'static>(to: &ActorRef<A>, message: M) {
    let _ = to.tell(message).try_send();
}

// ── pingpong, pairs, ring ───────────────────────────────────────────────────────────────────────

#[derive(Actor)]
struct Player {
    other: Option<ActorRef<Player>>,
    done: Arc<Latch>,
}

struct Meet(ActorRef<Player>);

struct Ball(u64);

impl Message<Meet> for Player {
    type Reply = ();

    async fn handle(&mut self, meet: Meet, _: &mut Context<Self, ()>) {
        self.other = Some(meet.0);
    }
}

impl Message<Ball> for Player {
    type Reply = ();

    async fn handle(&mut self, ball: Ball, _: &mut Context<Self, ()>) {
        if ball.0 == 0 {
            self.done.count_down();
        } else if let Some(other) = &self.other {
            tell(other, Ball(ball.0 - 1));
        }
    }
}

/// Starts players; `next` returns the player to which each of them sends.
fn players(
    count: usize,
    next: impl Fn(usize) -> usize,
    done: &Arc<Latch>,
) -> Vec<ActorRef<Player>> {
    let all: Vec<_> = (0..count)
        .map(|_| {
            start(Player {
                other: None,
                done: done.clone(),
            })
        })
        .collect();
    for (i, player) in all.iter().enumerate() {
        tell(player, Meet(all[next(i)].clone()));
    }
    all
}

fn play(s: &Sizes, balls_per_pair: usize) -> f64 {
    let balls = s.actors / 2 * balls_per_pair;
    let hops = s.messages / balls;
    let done = Latch::new(balls);
    let players = players(s.actors / 2 * 2, |i| i ^ 1, &done);
    let began = Instant::now();
    for pair in players.chunks(2) {
        for player in &pair[..balls_per_pair] {
            tell(player, Ball(hops as u64));
        }
    }
    done.wait();
    (hops * balls) as f64 / began.elapsed().as_secs_f64()
}

fn pingpong(_: &Runtime, s: &Sizes) -> f64 {
    play(s, 1)
}

fn pairs(_: &Runtime, s: &Sizes) -> f64 {
    play(s, 2)
}

fn ring(_: &Runtime, s: &Sizes) -> f64 {
    let done = Latch::new(1);
    let players = players(s.actors, |i| (i + 1) % s.actors, &done);
    let began = Instant::now();
    tell(&players[0], Ball(s.messages as u64));
    done.wait();
    s.messages as f64 / began.elapsed().as_secs_f64()
}

// ── ask ─────────────────────────────────────────────────────────────────────────────────────────

#[derive(Actor)]
struct Responder;

struct Request(u64);

impl Message<Request> for Responder {
    type Reply = u64;

    async fn handle(&mut self, request: Request, _: &mut Context<Self, u64>) -> u64 {
        request.0 + 1
    }
}

#[derive(Actor)]
struct Requester {
    to: ActorRef<Responder>,
    done: Arc<Latch>,
}

struct Begin(u64);

/// One request at a time, each with a time-out.
impl Message<Begin> for Requester {
    type Reply = ();

    async fn handle(&mut self, begin: Begin, _: &mut Context<Self, ()>) {
        let mut value = 0;
        for _ in 0..begin.0 {
            let request = self.to.ask(Request(value));
            value = request.reply_timeout(Duration::from_secs(1)).await.unwrap();
        }
        assert_eq!(value, begin.0);
        self.done.count_down();
    }
}

fn ask(_: &Runtime, s: &Sizes) -> f64 {
    let done = Latch::new(1);
    let to = start(Responder);
    let from = start(Requester {
        to,
        done: done.clone(),
    });
    let began = Instant::now();
    tell(&from, Begin(s.messages as u64));
    done.wait();
    s.messages as f64 / began.elapsed().as_secs_f64()
}

// ── wall ────────────────────────────────────────────────────────────────────────────────────────

struct Hit;

#[derive(Actor)]
struct WallPlayer {
    wall: ActorRef<Wall>,
}

impl Message<Hit> for WallPlayer {
    type Reply = ();

    async fn handle(&mut self, hit: Hit, _: &mut Context<Self, ()>) {
        tell(&self.wall, hit);
    }
}

#[derive(Actor)]
struct Wall {
    players: Vec<ActorRef<WallPlayer>>,
    left: usize,
    random: u64,
    done: Arc<Latch>,
}

struct Players(Vec<ActorRef<WallPlayer>>);

impl Message<Players> for Wall {
    type Reply = ();

    async fn handle(&mut self, players: Players, _: &mut Context<Self, ()>) {
        self.players = players.0;
    }
}

impl Message<Hit> for Wall {
    type Reply = ();

    async fn handle(&mut self, hit: Hit, _: &mut Context<Self, ()>) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        if self.left == 0 {
            self.done.count_down();
            return;
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let chosen = self.random % self.players.len() as u64;
        tell(&self.players[chosen as usize], hit);
    }
}

fn wall_of_players(_: &Runtime, s: &Sizes) -> f64 {
    let done = Latch::new(1);
    let wall = start(Wall {
        players: Vec::new(),
        left: s.messages / 2,
        random: 88172645463325252,
        done: done.clone(),
    });
    let players: Vec<_> = (0..s.actors)
        .map(|_| start(WallPlayer { wall: wall.clone() }))
        .collect();
    tell(&wall, Players(players.clone()));
    let began = Instant::now();
    for player in &players {
        tell(player, Hit);
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

#[derive(Actor)]
struct Consumer {
    left: usize,
    sum: Arc<AtomicU64>,
    done: Arc<Latch>,
}

impl Message<Item> for Consumer {
    type Reply = ();

    async fn handle(&mut self, item: Item, _: &mut Context<Self, ()>) {
        self.sum.fetch_add(item.number, Ordering::Relaxed);
        self.left -= 1;
        if self.left == 0 {
            self.done.count_down();
        }
    }
}

struct Step;

/// Sends a batch in a turn and then a message to itself, so that others are scheduled too. In the
/// bounded form, a send waits while the consumer's mailbox is full.
#[derive(Actor)]
struct Producer {
    to: ActorRef<Consumer>,
    producer: u64,
    sent: u64,
    count: u64,
    waits: bool,
}

impl Message<Step> for Producer {
    type Reply = ();

    async fn handle(&mut self, step: Step, context: &mut Context<Self, ()>) {
        for _ in 0..64 {
            if self.sent == self.count {
                return;
            }
            let item = Item {
                producer: self.producer,
                number: self.sent,
            };
            if self.waits {
                let _ = self.to.tell(item).await;
            } else {
                tell(&self.to, item);
            }
            self.sent += 1;
        }
        tell(context.actor_ref(), step);
    }
}

fn fanin(_: &Runtime, s: &Sizes) -> f64 {
    let each = s.messages / s.actors;
    let sum = Arc::new(AtomicU64::new(0));
    let done = Latch::new(1);
    let mailbox = if s.limit == 0 {
        mailbox::unbounded()
    } else {
        mailbox::bounded(s.limit)
    };
    let consumer = Consumer {
        left: each * s.actors,
        sum: sum.clone(),
        done: done.clone(),
    };
    let to = Consumer::spawn_with_mailbox(consumer, mailbox);
    let producers: Vec<_> = (0..s.actors)
        .map(|i| {
            start(Producer {
                to: to.clone(),
                producer: i as u64,
                sent: 0,
                count: each as u64,
                waits: s.limit != 0,
            })
        })
        .collect();
    let began = Instant::now();
    for producer in &producers {
        tell(producer, Step);
    }
    done.wait();
    let rate = (each * s.actors) as f64 / began.elapsed().as_secs_f64();
    let expected = s.actors * (each * (each - 1) / 2);
    assert_eq!(sum.load(Ordering::Relaxed), expected as u64);
    rate
}

// ── spawn ───────────────────────────────────────────────────────────────────────────────────────

struct Question {
    to: Recipient<Answer>,
    value: u64,
}

struct Answer(u64);

/// Stops when no reference to it is left.
#[derive(Actor)]
struct ShortLived;

impl Message<Question> for ShortLived {
    type Reply = ();

    async fn handle(&mut self, question: Question, _: &mut Context<Self, ()>) {
        let _ = question.to.tell(Answer(question.value)).try_send();
    }
}

#[derive(Actor)]
struct Collector {
    count: u64,
    batch: usize,
    spawned: u64,
    answers: u64,
    sum: u64,
    done: Arc<Latch>,
}

struct SpawnMore;

impl Message<SpawnMore> for Collector {
    type Reply = ();

    async fn handle(&mut self, more: SpawnMore, context: &mut Context<Self, ()>) {
        let to: Recipient<Answer> = context.actor_ref().clone().recipient();
        for _ in 0..self.batch {
            if self.spawned == self.count {
                return;
            }
            let question = Question {
                to: to.clone(),
                value: self.spawned,
            };
            tell(&start(ShortLived), question);
            self.spawned += 1;
        }
        tell(context.actor_ref(), more);
    }
}

impl Message<Answer> for Collector {
    type Reply = ();

    async fn handle(&mut self, answer: Answer, _: &mut Context<Self, ()>) {
        self.sum += answer.0;
        self.answers += 1;
        if self.answers == self.count {
            assert_eq!(self.sum, self.count * (self.count - 1) / 2);
            self.done.count_down();
        }
    }
}

fn spawn(_: &Runtime, s: &Sizes) -> f64 {
    let done = Latch::new(1);
    let began = Instant::now();
    let collector = start(Collector {
        count: s.actors as u64,
        batch: s.batch,
        spawned: 0,
        answers: 0,
        sum: 0,
        done: done.clone(),
    });
    tell(&collector, SpawnMore);
    done.wait();
    s.actors as f64 / began.elapsed().as_secs_f64()
}

// ── idle ────────────────────────────────────────────────────────────────────────────────────────

struct Idler {
    state: [u64; 2],
}

impl Actor for Idler {
    type Args = Arc<Latch>;
    type Error = Infallible;

    async fn on_start(started: Arc<Latch>, _: ActorRef<Self>) -> Result<Self, Infallible> {
        started.count_down();
        Ok(Idler { state: [0; 2] })
    }
}

impl Message<Answer> for Idler {
    type Reply = ();

    async fn handle(&mut self, answer: Answer, _: &mut Context<Self, ()>) {
        self.state[0] += answer.0;
        std::hint::black_box(&self.state);
    }
}

fn idle(_: &Runtime, s: &Sizes) -> f64 {
    let started = Latch::new(s.actors);
    let before = rss_bytes();
    let mut all = Vec::with_capacity(s.actors);
    for _ in 0..s.actors {
        all.push(Idler::spawn_with_mailbox(
            started.clone(),
            mailbox::unbounded(),
        ));
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
        .enable_time()
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
        let _in_runtime = runtime.enter(); // where actors are spawned
        run(&runtime, &sizes);
    }
    let runtime = start_runtime(&sizes);
    let _in_runtime = runtime.enter(); // where actors are spawned
    let value = run(&runtime, &sizes);
    let what = match arguments[0].as_str() {
        "idle" => "bytes_per_actor bytes",
        "spawn" => "rate actors/s",
        _ => "rate messages/s",
    };
    println!("{what} {value}");
    exit(0); // does not wait for work in progress
}
