// SPDX-License-Identifier: Apache-2.0

//! The workloads in actix: an actor lives on one arbiter, a thread with an event loop, for its whole
//! life. There is one arbiter for each worker.
//!
//!   workloads WORKLOAD --workers N [--actors N] [--messages N] [--limit N] [--batch N]
//!
//! It prints one line: `METRIC UNIT VALUE`.
//!
//! Choices: both players of a pair share an arbiter, and the ring consists of one section for each
//! arbiter. Other actors are distributed in turn. An actor that is spawned by another one stays on
//! its arbiter. A handler sends with do_send(), which ignores the limit of the mailbox: actix has no
//! send that waits only for space, so the bounded form of fanin does not exist. The allocator is
//! the system's.

use std::process::exit;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::Thread;
use std::time::{Duration, Instant};

use actix::fut::WrapFuture;
use actix::{
    Actor, ActorContext, Addr, Arbiter, AsyncContext, Context, Handler, Message, Recipient,
    ResponseFuture, System,
};

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

/// The arbiters, one for each worker.
struct Runtime {
    arbiters: Vec<Arbiter>,
}

impl Runtime {
    fn new(workers: usize) -> Runtime {
        Runtime {
            arbiters: (0..workers).map(|_| Arbiter::new()).collect(),
        }
    }

    fn end(self) {
        for arbiter in self.arbiters {
            arbiter.stop();
            arbiter.join().unwrap();
        }
    }

    fn start<A: Actor<Context = Context<A>> + Send>(&self, on: usize, actor: A) -> Addr<A> {
        let arbiter = self.arbiters[on % self.arbiters.len()].handle();
        A::start_in_arbiter(&arbiter, move |_| actor)
    }
}

/// Yields at intervals in a loop that never waits. Otherwise, no other actor of the arbiter runs.
async fn let_others_run(i: u64, batch: u64) {
    if i % batch == batch - 1 {
        tokio::task::yield_now().await;
    }
}

// ── pingpong, pairs, ring ───────────────────────────────────────────────────────────────────────

struct Player {
    other: Option<Addr<Player>>,
    done: Arc<Latch>,
}

impl Actor for Player {
    type Context = Context<Self>;
}

#[derive(Message)]
#[rtype(result = "()")]
struct Meet(Addr<Player>);

#[derive(Message)]
#[rtype(result = "()")]
struct Ball(u64);

impl Handler<Meet> for Player {
    type Result = ();

    fn handle(&mut self, meet: Meet, _: &mut Context<Self>) {
        self.other = Some(meet.0);
    }
}

impl Handler<Ball> for Player {
    type Result = ();

    fn handle(&mut self, ball: Ball, _: &mut Context<Self>) {
        if ball.0 == 0 {
            self.done.count_down();
        } else if let Some(other) = &self.other {
            other.do_send(Ball(ball.0 - 1));
        }
    }
}

/// Starts players; `next` returns the player to which each of them sends, `on` its arbiter.
fn players(
    runtime: &Runtime,
    count: usize,
    on: impl Fn(usize) -> usize,
    next: impl Fn(usize) -> usize,
    done: &Arc<Latch>,
) -> Vec<Addr<Player>> {
    let new = || Player {
        other: None,
        done: done.clone(),
    };
    let all: Vec<_> = (0..count).map(|i| runtime.start(on(i), new())).collect();
    for (i, player) in all.iter().enumerate() {
        player.do_send(Meet(all[next(i)].clone()));
    }
    all
}

fn play(runtime: &Runtime, s: &Sizes, balls_per_pair: usize) -> f64 {
    let balls = s.actors / 2 * balls_per_pair;
    let hops = s.messages / balls;
    let done = Latch::new(balls);
    let players = players(runtime, s.actors / 2 * 2, |i| i / 2, |i| i ^ 1, &done);
    let began = Instant::now();
    for pair in players.chunks(2) {
        for player in &pair[..balls_per_pair] {
            player.do_send(Ball(hops as u64));
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
    let section = |i| i * s.workers / s.actors;
    let players = players(runtime, s.actors, section, |i| (i + 1) % s.actors, &done);
    let began = Instant::now();
    players[0].do_send(Ball(s.messages as u64));
    done.wait();
    s.messages as f64 / began.elapsed().as_secs_f64()
}

// ── ask ─────────────────────────────────────────────────────────────────────────────────────────

struct Responder;

impl Actor for Responder {
    type Context = Context<Self>;
}

#[derive(Message)]
#[rtype(result = "u64")]
struct Request(u64);

impl Handler<Request> for Responder {
    type Result = u64;

    fn handle(&mut self, request: Request, _: &mut Context<Self>) -> u64 {
        request.0 + 1
    }
}

struct Requester {
    to: Addr<Responder>,
    done: Arc<Latch>,
}

impl Actor for Requester {
    type Context = Context<Self>;
}

#[derive(Message)]
#[rtype(result = "()")]
struct Begin(u64);

/// One request at a time, each with a time-out.
impl Handler<Begin> for Requester {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, begin: Begin, _: &mut Context<Self>) -> ResponseFuture<()> {
        let to = self.to.clone();
        let done = self.done.clone();
        Box::pin(async move {
            let mut value = 0;
            for _ in 0..begin.0 {
                let request = to.send(Request(value)).timeout(Duration::from_secs(1));
                value = request.await.unwrap();
            }
            assert_eq!(value, begin.0);
            done.count_down();
        })
    }
}

fn ask(runtime: &Runtime, s: &Sizes) -> f64 {
    let done = Latch::new(1);
    let to = runtime.start(0, Responder);
    let requester = Requester {
        to,
        done: done.clone(),
    };
    let from = runtime.start(0, requester);
    let began = Instant::now();
    from.do_send(Begin(s.messages as u64));
    done.wait();
    s.messages as f64 / began.elapsed().as_secs_f64()
}

// ── wall ────────────────────────────────────────────────────────────────────────────────────────

#[derive(Message)]
#[rtype(result = "()")]
struct Hit;

struct WallPlayer {
    wall: Addr<Wall>,
}

impl Actor for WallPlayer {
    type Context = Context<Self>;
}

impl Handler<Hit> for WallPlayer {
    type Result = ();

    fn handle(&mut self, hit: Hit, _: &mut Context<Self>) {
        self.wall.do_send(hit);
    }
}

struct Wall {
    players: Vec<Addr<WallPlayer>>,
    left: usize,
    random: u64,
    done: Arc<Latch>,
}

impl Actor for Wall {
    type Context = Context<Self>;
}

#[derive(Message)]
#[rtype(result = "()")]
struct Players(Vec<Addr<WallPlayer>>);

impl Handler<Players> for Wall {
    type Result = ();

    fn handle(&mut self, players: Players, _: &mut Context<Self>) {
        self.players = players.0;
    }
}

impl Handler<Hit> for Wall {
    type Result = ();

    fn handle(&mut self, hit: Hit, _: &mut Context<Self>) {
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
        self.players[chosen as usize].do_send(hit);
    }
}

fn wall_of_players(runtime: &Runtime, s: &Sizes) -> f64 {
    let done = Latch::new(1);
    let new = Wall {
        players: Vec::new(),
        left: s.messages / 2,
        random: 88172645463325252,
        done: done.clone(),
    };
    let wall = runtime.start(0, new);
    let players: Vec<_> = (0..s.actors)
        .map(|i| runtime.start(i, WallPlayer { wall: wall.clone() }))
        .collect();
    wall.do_send(Players(players.clone()));
    let began = Instant::now();
    for player in &players {
        player.do_send(Hit);
    }
    done.wait();
    s.messages as f64 / began.elapsed().as_secs_f64()
}

// ── fanin ───────────────────────────────────────────────────────────────────────────────────────

#[derive(Message)]
#[rtype(result = "()")]
struct Item {
    #[allow(dead_code)] // a message has 16 bytes
    producer: u64,
    number: u64,
}

struct Consumer {
    left: usize,
    sum: u64,
    expected: u64,
    done: Arc<Latch>,
}

impl Actor for Consumer {
    type Context = Context<Self>;
}

impl Handler<Item> for Consumer {
    type Result = ();

    fn handle(&mut self, item: Item, _: &mut Context<Self>) {
        self.sum += item.number;
        self.left -= 1;
        if self.left == 0 {
            assert_eq!(self.sum, self.expected);
            self.done.count_down();
        }
    }
}

struct Producer {
    to: Addr<Consumer>,
    producer: u64,
    count: u64,
}

impl Actor for Producer {
    type Context = Context<Self>;
}

impl Handler<Begin> for Producer {
    type Result = ();

    fn handle(&mut self, _: Begin, context: &mut Context<Self>) {
        let (to, producer, count) = (self.to.clone(), self.producer, self.count);
        let all = async move {
            for number in 0..count {
                to.do_send(Item { producer, number });
                let_others_run(number, 64).await;
            }
        };
        context.spawn(all.into_actor(self));
    }
}

fn fanin(runtime: &Runtime, s: &Sizes) -> f64 {
    if s.limit != 0 {
        eprintln!("actix has no send that waits until a mailbox has space");
        exit(1);
    }
    let each = s.messages / s.actors;
    let done = Latch::new(1);
    let consumer = Consumer {
        left: each * s.actors,
        sum: 0,
        expected: (s.actors * (each * (each - 1) / 2)) as u64,
        done: done.clone(),
    };
    let to = runtime.start(0, consumer);
    let producers: Vec<_> = (0..s.actors)
        .map(|i| {
            let new = Producer {
                to: to.clone(),
                producer: i as u64,
                count: each as u64,
            };
            runtime.start(i, new)
        })
        .collect();
    let began = Instant::now();
    for producer in &producers {
        producer.do_send(Begin(0));
    }
    done.wait();
    (each * s.actors) as f64 / began.elapsed().as_secs_f64()
}

// ── spawn ───────────────────────────────────────────────────────────────────────────────────────

#[derive(Message)]
#[rtype(result = "()")]
struct Question {
    to: Recipient<Answer>,
    value: u64,
}

#[derive(Message)]
#[rtype(result = "()")]
struct Answer(u64);

struct ShortLived;

impl Actor for ShortLived {
    type Context = Context<Self>;
}

impl Handler<Question> for ShortLived {
    type Result = ();

    fn handle(&mut self, question: Question, context: &mut Context<Self>) {
        question.to.do_send(Answer(question.value));
        context.stop();
    }
}

struct Collector {
    count: u64,
    batch: u64,
    answers: u64,
    sum: u64,
    done: Arc<Latch>,
}

impl Actor for Collector {
    type Context = Context<Self>;
}

impl Handler<Begin> for Collector {
    type Result = ();

    fn handle(&mut self, begin: Begin, context: &mut Context<Self>) {
        let to = context.address().recipient();
        let batch = self.batch;
        let all = async move {
            for value in 0..begin.0 {
                let question = Question {
                    to: to.clone(),
                    value,
                };
                ShortLived.start().do_send(question);
                let_others_run(value, batch).await;
            }
        };
        context.spawn(all.into_actor(self));
    }
}

impl Handler<Answer> for Collector {
    type Result = ();

    fn handle(&mut self, answer: Answer, _: &mut Context<Self>) {
        self.sum += answer.0;
        self.answers += 1;
        if self.answers == self.count {
            assert_eq!(self.sum, self.count * (self.count - 1) / 2);
            self.done.count_down();
        }
    }
}

fn spawn(runtime: &Runtime, s: &Sizes) -> f64 {
    let done = Latch::new(1);
    let began = Instant::now();
    let new = Collector {
        count: s.actors as u64,
        batch: s.batch as u64,
        answers: 0,
        sum: 0,
        done: done.clone(),
    };
    let collector = runtime.start(0, new);
    collector.do_send(Begin(s.actors as u64));
    done.wait();
    s.actors as f64 / began.elapsed().as_secs_f64()
}

// ── idle ────────────────────────────────────────────────────────────────────────────────────────

struct Idler {
    state: [u64; 2],
    started: Option<Arc<Latch>>,
}

impl Actor for Idler {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Context<Self>) {
        self.started.take().unwrap().count_down();
    }
}

impl Handler<Answer> for Idler {
    type Result = ();

    fn handle(&mut self, answer: Answer, _: &mut Context<Self>) {
        self.state[0] += answer.0;
        std::hint::black_box(&self.state);
    }
}

fn idle(runtime: &Runtime, s: &Sizes) -> f64 {
    let started = Latch::new(s.actors);
    let before = rss_bytes();
    let mut all = Vec::with_capacity(s.actors);
    for i in 0..s.actors {
        let new = Idler {
            state: [0; 2],
            started: Some(started.clone()),
        };
        all.push(runtime.start(i, new));
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

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let Some((run, sizes)) = read(&arguments) else {
        eprintln!(
            "usage: workloads WORKLOAD --workers N [--actors N] [--messages N] [--limit N] \
             [--batch N]"
        );
        exit(2)
    };
    let _system = System::new(); // to which the arbiters belong
    if arguments[0] != "idle" {
        // The second run is measured. The arbiters of the first one end with their actors.
        let runtime = Runtime::new(sizes.workers);
        run(&runtime, &sizes);
        runtime.end();
    }
    let runtime = Runtime::new(sizes.workers);
    let value = run(&runtime, &sizes);
    let what = match arguments[0].as_str() {
        "idle" => "bytes_per_actor bytes",
        "spawn" => "rate actors/s",
        _ => "rate messages/s",
    };
    println!("{what} {value}");
    exit(0); // does not wait for work in progress
}
