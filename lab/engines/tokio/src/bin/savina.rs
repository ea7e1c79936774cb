// SPDX-License-Identifier: Apache-2.0

//! The Savina workloads in Rust with tokio: an actor is a task and the unbounded channel that it
//! reads. They are those of S. Imam and V. Sarkar, "Savina - An Actor Benchmark Suite", AGERE! 2014.
//!
//!   savina WORKLOAD --workers N [--SIZE N]…
//!
//! The experiment `savina` lists the sizes of each workload. The program prints one line,
//! `time ms VALUE`. If the result of the workload is wrong, it exits with 1.
//!
//! Choices: as in main.rs. Each workload runs once before it is measured. A reply that one actor
//! waits for goes through a oneshot channel. An actor that always talks to the same other actor is
//! given that actor's channel when it starts. What a task finds out is the result of its JoinHandle.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::process::exit;
use std::sync::Arc;
use std::time::Instant;

use tokio::runtime::Runtime;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;

type To<M> = UnboundedSender<M>;
type From<M> = UnboundedReceiver<M>;

/// Seconds, or what is wrong with the result.
type Outcome = Result<f64, &'static str>;

/// The number of messages that an actor with very many of them takes from its channel at once.
const BATCH: usize = 256;

fn expect(holds: bool, otherwise: &'static str) -> Result<(), &'static str> {
    if holds {
        Ok(())
    } else {
        Err(otherwise)
    }
}

/// Savina's generator: 16 bits, the same numbers in every language.
struct SmallRandom(u64);

impl SmallRandom {
    fn next(&mut self) -> u64 {
        self.0 = (self.0 * 1309 + 13849) & 65535;
        self.0
    }

    fn next_double(&mut self) -> f64 {
        1.0 / (self.next() + 1) as f64
    }
}

/// A generator with 64 bits, for keys. The seed must not be zero.
struct WideRandom(u64);

impl WideRandom {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

// A send fails when the receiver is gone, which happens only after the result is known.

// ── counting ────────────────────────────────────────────────────────────────────────────────────

enum Count {
    Increment,
    Retrieve(oneshot::Sender<u64>),
}

async fn counter(mut messages: From<Count>) {
    let mut count = 0;
    let mut batch = Vec::with_capacity(BATCH);
    while messages.recv_many(&mut batch, BATCH).await != 0 {
        for message in batch.drain(..) {
            match message {
                Count::Increment => count += 1,
                Count::Retrieve(to) => {
                    let _ = to.send(count);
                }
            }
        }
    }
}

/// Sends everything without a pause, as published.
async fn counting_producer(to: To<Count>, messages: u64) -> u64 {
    for _ in 0..messages {
        let _ = to.send(Count::Increment);
    }
    let (answer, answered) = oneshot::channel();
    let _ = to.send(Count::Retrieve(answer));
    answered.await.unwrap_or(0)
}

fn counting(runtime: &Runtime, s: &Sizes) -> Outcome {
    let messages = s.get("messages");
    let began = Instant::now();
    let (to, received) = unbounded_channel();
    runtime.spawn(counter(received));
    let found = runtime.spawn(counting_producer(to, messages));
    let found = runtime.block_on(found).unwrap_or(0);
    let took = began.elapsed().as_secs_f64();
    expect(found == messages, "a message was lost")?;
    Ok(took)
}

// ── ring ────────────────────────────────────────────────────────────────────────────────────────

enum Ring {
    Meet(To<Ring>),
    Ping(u64),
    Leave(u64),
}

/// Returns whether the message made its last hop to this actor.
async fn link(mut messages: From<Ring>, actors: u64) -> bool {
    let mut next = None;
    let mut was_last = false;
    while let Some(message) = messages.recv().await {
        let message = match message {
            Ring::Meet(other) => {
                next = Some(other);
                continue;
            }
            Ring::Ping(0) => {
                was_last = true;
                Ring::Leave(actors)
            }
            Ring::Ping(left) => Ring::Ping(left - 1),
            Ring::Leave(left) => {
                if left > 1 {
                    let _ = next.unwrap().send(Ring::Leave(left - 1));
                }
                break;
            }
        };
        let _ = next.as_ref().unwrap().send(message);
    }
    was_last
}

fn ring(runtime: &Runtime, s: &Sizes) -> Outcome {
    let actors = s.get("actors");
    let hops = s.get("hops");
    let began = Instant::now();
    let mut links = Vec::new();
    let mut senders = Vec::new();
    for _ in 0..actors {
        let (to, received) = unbounded_channel();
        links.push(runtime.spawn(link(received, actors)));
        senders.push(to);
    }
    for i in 0..senders.len() {
        let _ = senders[i].send(Ring::Meet(senders[(i + 1) % senders.len()].clone()));
    }
    let _ = senders[0].send(Ring::Ping(hops));
    drop(senders);
    let last = runtime.block_on(async {
        let mut last = None;
        for (i, link) in links.into_iter().enumerate() {
            if link.await.unwrap_or(false) {
                last = Some(i as u64);
            }
        }
        last
    });
    let took = began.elapsed().as_secs_f64();
    expect(last == Some(hops % actors), "the ring has another order")?;
    Ok(took)
}

// ── create ──────────────────────────────────────────────────────────────────────────────────────

const THETA: f64 = 37.2;

fn compute_sine(theta: f64) -> u64 {
    let sine = theta.sin();
    (1e6 * sine * sine) as u64
}

async fn worker(mut angles: From<f64>) -> u64 {
    angles.recv().await.map_or(0, compute_sine)
}

fn create(runtime: &Runtime, s: &Sizes) -> Outcome {
    let actors = s.get("actors");
    let began = Instant::now();
    let mut all = Vec::with_capacity(actors as usize);
    for _ in 0..actors {
        let (to, received) = unbounded_channel();
        all.push(runtime.spawn(worker(received)));
        let _ = to.send(THETA);
    }
    let sum = runtime.block_on(async {
        let mut sum = 0;
        for one in all {
            sum += one.await.unwrap_or(0);
        }
        sum
    });
    let took = began.elapsed().as_secs_f64();
    let each = compute_sine(std::hint::black_box(THETA));
    expect(sum == actors * each, "a computation is wrong")?;
    Ok(took)
}

// ── chameneos ───────────────────────────────────────────────────────────────────────────────────

/// 0, 1 or 2.
type Colour = u8;

/// Returns the colour of both after a meeting: the same if they are equal, otherwise the third one.
fn complement(one: Colour, other: Colour) -> Colour {
    if one == other {
        one
    } else {
        3 - one - other
    }
}

enum Creature {
    Meet(Colour, To<Creature>),
    Change(Colour),
    Leave,
}

enum Mall {
    Meet(Colour, To<Creature>),
    Faded(u64),
}

async fn mall(mut messages: From<Mall>, mut left: u64, mut creatures: u64) -> u64 {
    let mut waiting: Option<To<Creature>> = None;
    let mut found = 0;
    while let Some(message) = messages.recv().await {
        match message {
            Mall::Meet(colour, from) => {
                if left == 0 {
                    let _ = from.send(Creature::Leave);
                } else if let Some(first) = waiting.take() {
                    left -= 1;
                    let _ = first.send(Creature::Meet(colour, from));
                } else {
                    waiting = Some(from);
                }
            }
            Mall::Faded(meetings) => {
                found += meetings;
                creatures -= 1;
                if creatures == 0 {
                    break;
                }
            }
        }
    }
    found
}

async fn creature(
    mut messages: From<Creature>,
    own: To<Creature>,
    mall: To<Mall>,
    mut colour: Colour,
) {
    let mut meetings = 0;
    let _ = mall.send(Mall::Meet(colour, own.clone()));
    while let Some(message) = messages.recv().await {
        match message {
            Creature::Meet(other, from) => {
                colour = complement(colour, other);
                let _ = from.send(Creature::Change(colour));
            }
            Creature::Change(to) => colour = to,
            Creature::Leave => break,
        }
        meetings += 1;
        let _ = mall.send(Mall::Meet(colour, own.clone()));
    }
    let _ = mall.send(Mall::Faded(meetings));
}

fn chameneos(runtime: &Runtime, s: &Sizes) -> Outcome {
    let meetings = s.get("meetings");
    let creatures = s.get("creatures");
    let began = Instant::now();
    let (to, received) = unbounded_channel();
    let found = runtime.spawn(mall(received, meetings, creatures));
    for i in 0..creatures {
        let (own, received) = unbounded_channel();
        runtime.spawn(creature(received, own, to.clone(), (i % 3) as Colour));
    }
    let found = runtime.block_on(found).unwrap_or(0);
    let took = began.elapsed().as_secs_f64();
    expect(found == 2 * meetings, "a meeting has not two participants")?;
    Ok(took)
}

// ── big ─────────────────────────────────────────────────────────────────────────────────────────

enum Big {
    Meet(Arc<Vec<To<Big>>>),
    Ping(u32),
    Pong(u32),
    Leave,
}

async fn pinger(mut messages: From<Big>, number: u32, pings: u64, sink: To<u64>) {
    let Some(Big::Meet(others)) = messages.recv().await else {
        return;
    };
    let mut random = SmallRandom(u64::from(number));
    let mut expected = number; // the first pong is its own
    let mut pongs = 0;
    while let Some(message) = messages.recv().await {
        match message {
            Big::Ping(from) => {
                let _ = others[from as usize].send(Big::Pong(number));
            }
            Big::Pong(from) if from != expected => {} // the sum will be wrong
            Big::Pong(_) if pongs == pings => {
                let _ = sink.send(pongs);
            }
            Big::Pong(_) => {
                pongs += 1;
                expected = (random.next() % others.len() as u64) as u32;
                let _ = others[expected as usize].send(Big::Ping(number));
            }
            Big::Meet(_) => {}
            Big::Leave => break,
        }
    }
}

async fn sink(mut finished: From<u64>, actors: u64) -> u64 {
    let mut found = 0;
    for _ in 0..actors {
        found += finished.recv().await.unwrap_or(0);
    }
    found
}

fn big(runtime: &Runtime, s: &Sizes) -> Outcome {
    let actors = s.get("actors");
    let pings = s.get("pings");
    let began = Instant::now();
    let (to, received) = unbounded_channel();
    let found = runtime.spawn(sink(received, actors));
    let mut all = Vec::new();
    for i in 0..actors {
        let (own, received) = unbounded_channel();
        runtime.spawn(pinger(received, i as u32, pings, to.clone()));
        all.push(own);
    }
    let all = Arc::new(all);
    for one in all.iter() {
        let _ = one.send(Big::Meet(all.clone()));
    }
    for (i, one) in all.iter().enumerate() {
        let _ = one.send(Big::Pong(i as u32));
    }
    let found = runtime.block_on(found).unwrap_or(0);
    let took = began.elapsed().as_secs_f64();
    for one in all.iter() {
        let _ = one.send(Big::Leave);
    }
    expect(found == actors * pings, "a pong is missing")?;
    Ok(took)
}

// ── dictionary ──────────────────────────────────────────────────────────────────────────────────

/// The keys are evenly spread, so they need no other hash. C++ and Java do the same.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0 << 8 | u64::from(*byte);
        }
    }

    // The table takes the bucket from the low bits, and compares seven high bits first.
    fn write_u32(&mut self, key: u32) {
        self.0 = u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type Values = HashMap<u32, u64, BuildHasherDefault<KeyHasher>>;

const WRITE_PERCENT: u64 = 10;

struct DictionaryRequests {
    random: WideRandom,
    entries: u64,
}

impl DictionaryRequests {
    fn new(client: u64, entries: u64) -> Self {
        let random = WideRandom(88172645463325252 + client);
        DictionaryRequests { random, entries }
    }

    /// Returns the key, and whether the request writes.
    fn next(&mut self) -> (u32, bool) {
        let number = self.random.next();
        let writes = (number & 0xff) * 100 < WRITE_PERCENT * 256;
        (((number >> 8) % self.entries) as u32, writes)
    }
}

enum Store {
    Read(u32, oneshot::Sender<u64>),
    Write(u32, u64, oneshot::Sender<u64>),
}

/// Returns the number of writes.
async fn store(mut requests: From<Store>, mut values: Values) -> u64 {
    let mut writes = 0;
    while let Some(request) = requests.recv().await {
        match request {
            Store::Read(key, to) => {
                let _ = to.send(values[&key]);
            }
            Store::Write(key, value, to) => {
                writes += 1;
                values.insert(key, value);
                let _ = to.send(value);
            }
        }
    }
    writes
}

/// Returns whether all replies were right.
async fn client(to: To<Store>, number: u64, requests: u64, entries: u64) -> bool {
    let mut all = DictionaryRequests::new(number, entries);
    for _ in 0..requests {
        let (key, writes) = all.next();
        let (answer, answered) = oneshot::channel();
        let _ = to.send(if writes {
            Store::Write(key, u64::from(key) + (number + 1) * entries, answer)
        } else {
            Store::Read(key, answer)
        });
        match answered.await {
            Ok(value) if value % entries == u64::from(key) => {}
            _ => return false,
        }
    }
    true
}

fn dictionary(runtime: &Runtime, s: &Sizes) -> Outcome {
    let clients = s.get("clients");
    let requests = s.get("requests");
    let entries = s.get("entries");
    let values = (0..entries).map(|i| (i as u32, i)).collect(); // before the measurement
    let (to, received) = unbounded_channel();
    let writes = runtime.spawn(store(received, values));
    let began = Instant::now();
    let all: Vec<_> = (0..clients)
        .map(|i| runtime.spawn(client(to.clone(), i, requests, entries)))
        .collect();
    let right = runtime.block_on(async {
        let mut right = true;
        for one in all {
            right &= one.await.unwrap_or(false);
        }
        right
    });
    let took = began.elapsed().as_secs_f64();
    drop(to);
    let writes = runtime.block_on(writes).unwrap_or(0);
    let expected = (0..clients)
        .map(|i| {
            let mut all = DictionaryRequests::new(i, entries);
            (0..requests).filter(|_| all.next().1).count() as u64
        })
        .sum();
    expect(right, "a reply belongs to another key")?;
    expect(writes == expected, "a write is missing")?;
    Ok(took)
}

// ── buffer ──────────────────────────────────────────────────────────────────────────────────────

const BUFFER_CAPACITY: usize = 50;
const ITEM_COST: u64 = 25; // of producing and of consuming

/// Producing or consuming an item: 2,500 logarithms, whose sum is the same each time.
fn process_item(term: f64) -> f64 {
    let mut result = term;
    let mut random = SmallRandom(ITEM_COST);
    for _ in 0..100 * ITEM_COST {
        result += (random.next_double() + 0.01).ln();
    }
    result
}

enum Manager {
    Item(f64, usize),
    Available(usize),
    ProducedAll,
}

struct Produce;

async fn producer(mut wanted: From<Produce>, to: To<Manager>, number: usize, items: u64) {
    let mut last = 0.0;
    for _ in 0..items {
        if wanted.recv().await.is_none() {
            return;
        }
        last = process_item(last);
        let _ = to.send(Manager::Item(last, number));
    }
    if wanted.recv().await.is_some() {
        let _ = to.send(Manager::ProducedAll);
    }
}

/// Returns the sum of its items. It ends when its channel is closed.
async fn consumer(mut items: From<f64>, of: To<Manager>, number: usize) -> f64 {
    let mut sum = 0.0;
    let mut last = 0.0;
    while let Some(value) = items.recv().await {
        sum += value;
        last = process_item(last + value);
        let _ = of.send(Manager::Available(number));
    }
    std::hint::black_box(last);
    sum
}

/// Returns the sum of all items that were consumed.
async fn manager(own: To<Manager>, mut messages: From<Manager>, count: usize, each: u64) -> f64 {
    // Each producer may still have an item on the way when the buffer is found full.
    let most = BUFFER_CAPACITY.saturating_sub(count).max(1);
    let mut consumers = Vec::new();
    let mut sums = Vec::new();
    let mut producers = Vec::new();
    let mut waiting_consumers: VecDeque<usize> = (0..count).collect();
    let mut waiting_producers = VecDeque::new();
    let mut items = VecDeque::new();
    let mut ended = 0;
    for i in 0..count {
        let (to, received) = unbounded_channel();
        sums.push(tokio::spawn(consumer(received, own.clone(), i)));
        consumers.push(to);
        let (to, received) = unbounded_channel();
        tokio::spawn(producer(received, own.clone(), i, each));
        producers.push(to);
    }
    for one in &producers {
        let _ = one.send(Produce);
    }
    while let Some(message) = messages.recv().await {
        match message {
            Manager::Item(value, from) => {
                if let Some(to) = waiting_consumers.pop_front() {
                    let _ = consumers[to].send(value);
                } else {
                    items.push_back(value);
                }
                if items.len() >= most {
                    waiting_producers.push_back(from);
                } else {
                    let _ = producers[from].send(Produce);
                }
            }
            Manager::Available(from) => {
                if let Some(value) = items.pop_front() {
                    let _ = consumers[from].send(value);
                    if let Some(to) = waiting_producers.pop_front() {
                        let _ = producers[to].send(Produce);
                    }
                } else {
                    waiting_consumers.push_back(from);
                }
            }
            Manager::ProducedAll => ended += 1,
        }
        if ended == count && waiting_consumers.len() == count {
            break;
        }
    }
    drop(consumers);
    let mut sum = 0.0;
    for one in sums {
        sum += one.await.unwrap_or(0.0);
    }
    sum
}

fn buffer(runtime: &Runtime, s: &Sizes) -> Outcome {
    let producers = s.get("producers");
    let items = s.get("items");
    let began = Instant::now();
    let (own, received) = unbounded_channel();
    let sum = runtime.spawn(manager(own, received, producers as usize, items));
    let sum = runtime.block_on(sum).unwrap_or(0.0);
    let took = began.elapsed().as_secs_f64();
    let n = items as f64;
    let expected = producers as f64 * process_item(0.0) * n * (n + 1.0) / 2.0;
    // The items were added in any order, so the last digits differ.
    let same = (sum - expected).abs() <= 1e-6 * expected.abs();
    expect(same, "an item was lost")?;
    Ok(took)
}

// ── logistic ────────────────────────────────────────────────────────────────────────────────────

fn rate_of_series(number: usize) -> f64 {
    3.46 + 0.0025 * number as f64
}

fn first_term_of_series(number: usize) -> f64 {
    0.0025 * number as f64
}

fn next_term(term: f64, rate: f64) -> f64 {
    rate * term * (1.0 - term)
}

enum Series {
    Next,
    Last(oneshot::Sender<f64>),
}

async fn rate_computer(mut terms: From<f64>, to: To<f64>, rate: f64) {
    while let Some(term) = terms.recv().await {
        let _ = to.send(next_term(term, rate));
    }
}

/// While it waits for a term, further messages wait in its channel.
async fn series(mut messages: From<Series>, number: usize) {
    let (by, received) = unbounded_channel();
    let (to, mut computed) = unbounded_channel();
    tokio::spawn(rate_computer(received, to, rate_of_series(number)));
    let mut term = first_term_of_series(number);
    while let Some(message) = messages.recv().await {
        match message {
            Series::Next => {
                let _ = by.send(term);
                term = computed.recv().await.unwrap_or(-1.0);
            }
            Series::Last(to) => {
                let _ = to.send(term);
                return;
            }
        }
    }
}

async fn series_master(count: usize, terms: u64) -> Vec<f64> {
    let mut all = Vec::new();
    for i in 0..count {
        let (to, received) = unbounded_channel();
        tokio::spawn(series(received, i));
        all.push(to);
    }
    for _ in 0..terms {
        for one in &all {
            let _ = one.send(Series::Next);
        }
    }
    let mut asked = Vec::new();
    for one in &all {
        let (answer, answered) = oneshot::channel();
        let _ = one.send(Series::Last(answer));
        asked.push(answered);
    }
    let mut last = Vec::new();
    for one in asked {
        last.push(one.await.unwrap_or(-1.0));
    }
    last
}

fn logistic(runtime: &Runtime, s: &Sizes) -> Outcome {
    let count = s.get("series") as usize;
    let terms = s.get("terms");
    let began = Instant::now();
    let last = runtime.block_on(runtime.spawn(series_master(count, terms)));
    let took = began.elapsed().as_secs_f64();
    let expected: Vec<f64> = (0..count)
        .map(|i| {
            let rate = rate_of_series(i);
            (0..terms).fold(first_term_of_series(i), |term, _| next_term(term, rate))
        })
        .collect();
    expect(last.ok() == Some(expected), "a term is wrong")?;
    Ok(took)
}

// ── bank ────────────────────────────────────────────────────────────────────────────────────────

/// All transfers go to an account with a higher number, so that accounts that wait for each other
/// never form a cycle. Requires at least 10 accounts.
struct Transfers {
    random: SmallRandom,
    accounts: u64,
}

impl Transfers {
    fn new(accounts: u64) -> Self {
        let random = SmallRandom(123456);
        Transfers { random, accounts }
    }

    /// Returns the two accounts and the amount.
    fn next(&mut self) -> (usize, usize, i64) {
        let from = self.random.next() % (self.accounts / 10 * 8);
        let step = self.random.next() % (self.accounts - from);
        let amount = self.random.next() % 1000;
        (from as usize, (from + step.max(1)) as usize, amount as i64)
    }
}

enum Account {
    Credit(i64, To<Account>),
    Debit(i64, oneshot::Sender<()>),
    Leave,
}

struct Transferred;

/// Returns its balance. While it waits, it handles nothing else.
async fn account(mut messages: From<Account>, teller: To<Transferred>) -> i64 {
    let mut balance = 0;
    while let Some(message) = messages.recv().await {
        match message {
            Account::Credit(amount, to) => {
                balance -= amount;
                let (answer, answered) = oneshot::channel();
                let _ = to.send(Account::Debit(amount, answer));
                if answered.await.is_ok() {
                    let _ = teller.send(Transferred);
                }
            }
            Account::Debit(amount, answer) => {
                balance += amount;
                let _ = answer.send(());
            }
            Account::Leave => break,
        }
    }
    balance
}

/// Returns all balances.
async fn teller(count: u64, transactions: u64) -> Vec<i64> {
    let (own, mut transferred) = unbounded_channel();
    let mut accounts = Vec::new();
    let mut ends = Vec::new();
    for _ in 0..count {
        let (to, received) = unbounded_channel();
        ends.push(tokio::spawn(account(received, own.clone())));
        accounts.push(to);
    }
    let mut transfers = Transfers::new(count);
    for _ in 0..transactions {
        let (from, to, amount) = transfers.next();
        let _ = accounts[from].send(Account::Credit(amount, accounts[to].clone()));
    }
    for _ in 0..transactions {
        let _ = transferred.recv().await;
    }
    for one in &accounts {
        let _ = one.send(Account::Leave);
    }
    let mut balances = Vec::new();
    for one in ends {
        balances.push(one.await.unwrap_or(i64::MIN));
    }
    balances
}

fn bank(runtime: &Runtime, s: &Sizes) -> Outcome {
    let accounts = s.get("accounts");
    let transactions = s.get("transactions");
    let began = Instant::now();
    let balances = runtime.block_on(runtime.spawn(teller(accounts, transactions)));
    let took = began.elapsed().as_secs_f64();
    let mut expected = vec![0; accounts as usize];
    let mut transfers = Transfers::new(accounts);
    for _ in 0..transactions {
        let (from, to, amount) = transfers.next();
        expected[from] -= amount;
        expected[to] += amount;
    }
    expect(balances.ok() == Some(expected), "a balance is wrong")?;
    Ok(took)
}

// ── fibonacci ───────────────────────────────────────────────────────────────────────────────────

enum Node {
    Request(u64),
    Response(u64),
}

fn start_node(parent: To<Node>) -> To<Node> {
    let (own, messages) = unbounded_channel();
    tokio::spawn(node(messages, own.clone(), parent));
    own
}

async fn node(mut messages: From<Node>, own: To<Node>, parent: To<Node>) {
    let mut sum = 0;
    let mut responses = 0;
    while let Some(message) = messages.recv().await {
        match message {
            Node::Request(index) if index <= 2 => {
                let _ = parent.send(Node::Response(1));
                return;
            }
            Node::Request(index) => {
                let _ = start_node(own.clone()).send(Node::Request(index - 1));
                let _ = start_node(own.clone()).send(Node::Request(index - 2));
            }
            Node::Response(value) => {
                sum += value;
                responses += 1;
                if responses == 2 {
                    let _ = parent.send(Node::Response(sum));
                    return;
                }
            }
        }
    }
}

async fn root(index: u64) -> u64 {
    let (own, mut messages) = unbounded_channel();
    let _ = start_node(own).send(Node::Request(index));
    match messages.recv().await {
        Some(Node::Response(value)) => value,
        _ => 0,
    }
}

fn fibonacci(runtime: &Runtime, s: &Sizes) -> Outcome {
    let index = s.get("index");
    let began = Instant::now();
    let found = runtime.block_on(runtime.spawn(root(index))).unwrap_or(0);
    let took = began.elapsed().as_secs_f64();
    let expected = (1..index).fold((0, 1), |(a, b), _| (b, a + b)).1;
    expect(found == expected, "the number is wrong")?;
    Ok(took)
}

// ── sieve ───────────────────────────────────────────────────────────────────────────────────────

enum Filter {
    Candidate(u64),
    End(oneshot::Sender<usize>),
}

fn start_filter(before: usize, first: u64, most: usize) -> To<Filter> {
    let (own, messages) = unbounded_channel();
    tokio::spawn(filter(messages, before, first, most));
    own
}

/// `before` primes are in the earlier filters.
async fn filter(mut messages: From<Filter>, before: usize, first: u64, most: usize) {
    let mut primes = Vec::with_capacity(most);
    primes.push(first);
    let mut next: Option<To<Filter>> = None;
    let mut batch = Vec::with_capacity(BATCH);
    while messages.recv_many(&mut batch, BATCH).await != 0 {
        for message in batch.drain(..) {
            match message {
                Filter::Candidate(number) => {
                    if primes.iter().any(|prime| number % prime == 0) {
                        continue;
                    }
                    if let Some(next) = &next {
                        let _ = next.send(message);
                    } else if primes.len() < most {
                        primes.push(number);
                    } else {
                        next = Some(start_filter(before + most, number, most));
                    }
                }
                Filter::End(to) => {
                    if let Some(next) = &next {
                        let _ = next.send(Filter::End(to));
                    } else {
                        let _ = to.send(before + primes.len());
                    }
                    return;
                }
            }
        }
    }
}

/// Sends all candidates without a pause, as published.
async fn number_producer(to: To<Filter>, limit: u64) -> usize {
    for number in (3..limit).step_by(2) {
        let _ = to.send(Filter::Candidate(number));
    }
    let (answer, answered) = oneshot::channel();
    let _ = to.send(Filter::End(answer));
    answered.await.unwrap_or(0)
}

fn count_primes(limit: usize) -> usize {
    let mut composite = vec![false; limit];
    let mut count = 0;
    for i in 2..limit {
        if !composite[i] {
            count += 1;
            for k in (i * i..limit).step_by(i) {
                composite[k] = true;
            }
        }
    }
    count
}

fn sieve(runtime: &Runtime, s: &Sizes) -> Outcome {
    let limit = s.get("limit");
    let began = Instant::now();
    let found = runtime.block_on(async {
        let first = start_filter(0, 2, s.get("primes") as usize);
        tokio::spawn(number_producer(first, limit)).await
    });
    let took = began.elapsed().as_secs_f64();
    let right = found.ok() == Some(count_primes(limit as usize));
    expect(right, "the number of primes is wrong")?;
    Ok(took)
}

// ── queens ──────────────────────────────────────────────────────────────────────────────────────

/// The columns of the queens in the first rows.
type Board = [u8; 16];

/// Savina's check: each pair of queens.
fn is_valid(queens: &[u8]) -> bool {
    for (i, &one) in queens.iter().enumerate() {
        for (apart, &other) in queens[i + 1..].iter().enumerate() {
            let distance = i32::from(other) - i32::from(one);
            let apart = apart as i32 + 1;
            if distance == 0 || distance == apart || distance == -apart {
                return false;
            }
        }
    }
    true
}

fn place_queens(queens: &mut Board, rows: usize, size: usize, found: &impl Fn()) {
    if rows == size {
        found();
        return;
    }
    for column in 0..size {
        queens[rows] = column as u8;
        if is_valid(&queens[..=rows]) {
            place_queens(queens, rows + 1, size, found);
        }
    }
}

enum Queens {
    Work(Board, usize),
    Solution,
    Done,
}

async fn solver(mut work: From<(Board, usize)>, of: To<Queens>, size: usize, threshold: usize) {
    while let Some((mut queens, rows)) = work.recv().await {
        if rows >= threshold || rows == size {
            place_queens(&mut queens, rows, size, &|| {
                let _ = of.send(Queens::Solution);
            });
        } else {
            for column in 0..size {
                queens[rows] = column as u8;
                if is_valid(&queens[..=rows]) {
                    let _ = of.send(Queens::Work(queens, rows + 1));
                }
            }
        }
        let _ = of.send(Queens::Done);
    }
}

async fn queens_master(solvers: u64, size: usize, threshold: usize) -> u64 {
    let (own, mut messages) = unbounded_channel();
    let mut all = Vec::new();
    for _ in 0..solvers {
        let (to, received) = unbounded_channel();
        tokio::spawn(solver(received, own.clone(), size, threshold));
        all.push(to);
    }
    let mut found = 0;
    let mut solved = 0;
    let mut sent = 1;
    let _ = all[0].send(([0; 16], 0));
    while let Some(message) = messages.recv().await {
        match message {
            Queens::Work(queens, rows) => {
                let _ = all[sent % all.len()].send((queens, rows));
                sent += 1;
            }
            Queens::Solution => found += 1,
            Queens::Done => {
                solved += 1;
                if solved == sent {
                    break;
                }
            }
        }
    }
    found
}

fn queens(runtime: &Runtime, s: &Sizes) -> Outcome {
    const KNOWN: [u64; 17] = [
        1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512,
    ];
    let size = s.get("size") as usize;
    let began = Instant::now();
    let master = queens_master(s.get("solvers"), size, s.get("threshold") as usize);
    let found = runtime.block_on(runtime.spawn(master));
    let took = began.elapsed().as_secs_f64();
    let right = found.ok() == Some(KNOWN[size]);
    expect(right, "the number of solutions is wrong")?;
    Ok(took)
}

// ── The program ─────────────────────────────────────────────────────────────────────────────────

struct Sizes(Vec<(String, u64)>);

impl Sizes {
    fn read(arguments: &[String]) -> Option<Sizes> {
        let mut all = Vec::new();
        for option in arguments.chunks(2) {
            let name = option[0].strip_prefix("--")?;
            all.push((name.to_string(), option.get(1)?.parse().ok()?));
        }
        Some(Sizes(all))
    }

    fn get(&self, name: &str) -> u64 {
        let Some((_, value)) = self.0.iter().find(|(each, _)| each == name) else {
            eprintln!("the size --{name} is missing");
            exit(1)
        };
        *value
    }
}

type Workload = fn(&Runtime, &Sizes) -> Outcome;

fn find(name: &str) -> Option<Workload> {
    Some(match name {
        "counting" => counting,
        "ring" => ring,
        "create" => create,
        "chameneos" => chameneos,
        "big" => big,
        "dictionary" => dictionary,
        "buffer" => buffer,
        "logistic" => logistic,
        "bank" => bank,
        "fibonacci" => fibonacci,
        "sieve" => sieve,
        "queens" => queens,
        _ => return None,
    })
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let run = arguments.first().and_then(|name| find(name));
    let (Some(run), Some(sizes)) = (run, Sizes::read(arguments.get(1..).unwrap_or(&[]))) else {
        eprintln!("usage: savina WORKLOAD --workers N [--SIZE N]...");
        exit(2)
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(sizes.get("workers") as usize)
        .build()
        .unwrap();
    match run(&runtime, &sizes).and_then(|_| run(&runtime, &sizes)) {
        Ok(seconds) => println!("time ms {}", 1e3 * seconds),
        Err(wrong) => {
            eprintln!("{wrong}");
            exit(1)
        }
    }
    exit(0); // does not wait for work in progress
}
