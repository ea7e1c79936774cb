// SPDX-License-Identifier: Apache-2.0

import com.typesafe.config.ConfigFactory;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.Props;
import org.apache.pekko.actor.UntypedAbstractActor;

/**
 * The Savina workloads in Pekko: classic actors, on which typed actors are built. They are those of
 * S. Imam and V. Sarkar, "Savina - An Actor Benchmark Suite", AGERE! 2014.
 *
 * <pre>savina WORKLOAD --workers N --warm_up_ms N [--SIZE N]…</pre>
 *
 * The experiment `savina` lists the sizes of each workload. The program prints one line, `time ms
 * VALUE`. If the result of the workload is wrong, it exits with 1.
 *
 * <p>Choices: dispatcher and mailbox are as in Workloads.java. Messages without content are
 * constants. An actor that waits for a reply keeps its other messages in a queue of its own, as in
 * one of the published forms. The actors of `fibonacci` are children of each other: in the published
 * form they are all children of the guardian, which takes ten times as long. A workload is repeated
 * for some seconds before it is measured, so that the measured code has been compiled. Memory, CPU
 * time and switches are those of the whole process, so they include that.
 */
public final class Savina {
  private interface Workload {
    /** Returns nanoseconds. */
    long run(ActorSystem system, Sizes s) throws Exception;
  }

  /** Messages without content. */
  private enum Signal { BEGIN, NEXT, LAST, DONE, LEAVE }

  /** Savina's generator: 16 bits, the same numbers in every language. */
  private static final class SmallRandom {
    private long value;

    SmallRandom(long seed) {
      value = seed;
    }

    int next() {
      value = (value * 1309 + 13849) & 65535;
      return (int) value;
    }

    double nextDouble() {
      return 1.0 / (next() + 1);
    }
  }

  // ── counting ──────────────────────────────────────────────────────────────────────────────────

  private record Total(long count) {}

  private static final class Counter extends UntypedAbstractActor {
    private long count = 0;

    @Override
    public void onReceive(Object message) {
      if (message == Signal.NEXT) {
        count++;
      } else {
        getSender().tell(new Total(count), getSelf());
        getContext().stop(getSelf());
      }
    }
  }

  /** Sends everything in one turn, as published. */
  private static final class CountingProducer extends UntypedAbstractActor {
    private final ActorRef to;
    private final long messages;
    private final AtomicLong found;
    private final CountDownLatch done;

    CountingProducer(ActorRef to, long messages, AtomicLong found, CountDownLatch done) {
      this.to = to;
      this.messages = messages;
      this.found = found;
      this.done = done;
    }

    @Override
    public void onReceive(Object message) {
      if (message instanceof Total total) {
        found.set(total.count);
        done.countDown();
        getContext().stop(getSelf());
        return;
      }
      for (long i = 0; i < messages; i++) to.tell(Signal.NEXT, getSelf());
      to.tell(Signal.LAST, getSelf());
    }
  }

  private static long counting(ActorSystem system, Sizes s) throws Exception {
    long messages = s.get("messages");
    AtomicLong found = new AtomicLong();
    CountDownLatch done = new CountDownLatch(1);
    long began = System.nanoTime();
    ActorRef to = system.actorOf(Props.create(Counter.class, Counter::new));
    Props from =
        Props.create(
            CountingProducer.class, () -> new CountingProducer(to, messages, found, done));
    tell(system.actorOf(from), Signal.BEGIN);
    done.await();
    long took = System.nanoTime() - began;
    expect(found.get() == messages, "a message was lost");
    return took;
  }

  // ── ring ──────────────────────────────────────────────────────────────────────────────────────

  private record Meet(ActorRef next) {}

  private record Ping(long left) {}

  private record Leave(long left) {}

  private static final class Link extends UntypedAbstractActor {
    private final long number;
    private final long actors;
    private final AtomicLong last;
    private final CountDownLatch done;
    private ActorRef next;

    Link(long number, long actors, AtomicLong last, CountDownLatch done) {
      this.number = number;
      this.actors = actors;
      this.last = last;
      this.done = done;
    }

    @Override
    public void onReceive(Object message) {
      if (message instanceof Ping ping) {
        if (ping.left > 0) {
          next.tell(new Ping(ping.left - 1), getSelf());
        } else {
          last.set(number);
          next.tell(new Leave(actors), getSelf());
        }
      } else if (message instanceof Leave leave) {
        if (leave.left > 1) {
          next.tell(new Leave(leave.left - 1), getSelf());
        } else {
          done.countDown();
        }
        getContext().stop(getSelf());
      } else if (message instanceof Meet meet) {
        next = meet.next;
      }
    }
  }

  private static long ring(ActorSystem system, Sizes s) throws Exception {
    int actors = (int) s.get("actors");
    long hops = s.get("hops");
    AtomicLong last = new AtomicLong(-1);
    CountDownLatch done = new CountDownLatch(1);
    long began = System.nanoTime();
    List<ActorRef> all = new ArrayList<>(actors);
    for (int i = 0; i < actors; i++) {
      long number = i;
      all.add(
          system.actorOf(Props.create(Link.class, () -> new Link(number, actors, last, done))));
    }
    for (int i = 0; i < actors; i++) tell(all.get(i), new Meet(all.get((i + 1) % actors)));
    tell(all.get(0), new Ping(hops));
    done.await();
    long took = System.nanoTime() - began;
    expect(last.get() == hops % actors, "the ring has another order");
    return took;
  }

  // ── create ────────────────────────────────────────────────────────────────────────────────────

  private record Work(double theta) {}

  private static final double THETA = 37.2;

  private static long computeSine(double theta) {
    double sine = Math.sin(theta);
    return (long) (1e6 * sine * sine);
  }

  private static final class Worker extends UntypedAbstractActor {
    private final AtomicLong sum;
    private final CountDownLatch done;

    Worker(AtomicLong sum, CountDownLatch done) {
      this.sum = sum;
      this.done = done;
    }

    @Override
    public void onReceive(Object message) {
      sum.addAndGet(computeSine(((Work) message).theta));
      done.countDown();
      getContext().stop(getSelf());
    }
  }

  private static long create(ActorSystem system, Sizes s) throws Exception {
    int actors = (int) s.get("actors");
    AtomicLong sum = new AtomicLong();
    CountDownLatch done = new CountDownLatch(actors);
    Work work = new Work(THETA);
    long began = System.nanoTime();
    Props worker = Props.create(Worker.class, () -> new Worker(sum, done));
    for (int i = 0; i < actors; i++) tell(system.actorOf(worker), work);
    done.await();
    long took = System.nanoTime() - began;
    // Compiled and interpreted code may differ in the last digit.
    expect(Math.abs(sum.get() - actors * computeSine(THETA)) <= actors, "a computation is wrong");
    return took;
  }

  // ── chameneos ─────────────────────────────────────────────────────────────────────────────────

  private record Meeting(int colour, ActorRef from) {}

  private record Change(int to) {}

  private record Faded(long meetings) {}

  /** Returns the colour of both: the same if they are equal, otherwise the third one. */
  private static int complement(int one, int other) {
    return one == other ? one : 3 - one - other;
  }

  private static final class Mall extends UntypedAbstractActor {
    private final AtomicLong found;
    private final CountDownLatch done;
    private long left;
    private long creatures;
    private ActorRef waiting = null;
    private long meetings = 0;

    Mall(long left, long creatures, AtomicLong found, CountDownLatch done) {
      this.left = left;
      this.creatures = creatures;
      this.found = found;
      this.done = done;
    }

    @Override
    public void onReceive(Object message) {
      if (message instanceof Meeting meeting) {
        if (left == 0) {
          meeting.from.tell(Signal.LEAVE, getSelf());
        } else if (waiting == null) {
          waiting = meeting.from;
        } else {
          left--;
          waiting.tell(meeting, getSelf());
          waiting = null;
        }
        return;
      }
      meetings += ((Faded) message).meetings;
      creatures--;
      if (creatures == 0) {
        found.set(meetings);
        done.countDown();
        getContext().stop(getSelf());
      }
    }
  }

  private static final class Creature extends UntypedAbstractActor {
    private final ActorRef mall;
    private int colour;
    private long meetings = 0;

    Creature(ActorRef mall, int colour) {
      this.mall = mall;
      this.colour = colour;
    }

    @Override
    public void preStart() {
      lookForAnother();
    }

    @Override
    public void onReceive(Object message) {
      if (message instanceof Meeting meeting) {
        colour = complement(colour, meeting.colour);
        meeting.from.tell(new Change(colour), getSelf());
      } else if (message instanceof Change change) {
        colour = change.to;
      } else {
        mall.tell(new Faded(meetings), getSelf());
        getContext().stop(getSelf());
        return;
      }
      meetings++;
      lookForAnother();
    }

    private void lookForAnother() {
      mall.tell(new Meeting(colour, getSelf()), getSelf());
    }
  }

  private static long chameneos(ActorSystem system, Sizes s) throws Exception {
    long creatures = s.get("creatures");
    long meetings = s.get("meetings");
    AtomicLong found = new AtomicLong();
    CountDownLatch done = new CountDownLatch(1);
    long began = System.nanoTime();
    ActorRef mall =
        system.actorOf(
            Props.create(Mall.class, () -> new Mall(meetings, creatures, found, done)));
    for (long i = 0; i < creatures; i++) {
      int colour = (int) (i % 3);
      system.actorOf(Props.create(Creature.class, () -> new Creature(mall, colour)));
    }
    done.await();
    long took = System.nanoTime() - began;
    expect(found.get() == 2 * meetings, "a meeting has not two participants");
    return took;
  }

  // ── big ───────────────────────────────────────────────────────────────────────────────────────

  private record Neighbours(ActorRef[] all) {}

  private record BigPing(int from) {}

  private record BigPong(int from) {}

  private record Finished(long pongs) {}

  private static final class Sink extends UntypedAbstractActor {
    private final AtomicLong found;
    private final CountDownLatch done;
    private long left;
    private long sum = 0;

    Sink(long actors, AtomicLong found, CountDownLatch done) {
      this.left = actors;
      this.found = found;
      this.done = done;
    }

    @Override
    public void onReceive(Object message) {
      sum += ((Finished) message).pongs;
      left--;
      if (left == 0) {
        found.set(sum);
        done.countDown();
        getContext().stop(getSelf());
      }
    }
  }

  private static final class Pinger extends UntypedAbstractActor {
    private final int number;
    private final long pings;
    private final ActorRef sink;
    private final SmallRandom random;
    private final BigPing ping;
    private final BigPong pong;
    private ActorRef[] others;
    private int expected;
    private long pongs = 0;

    Pinger(int number, long pings, ActorRef sink) {
      this.number = number;
      this.pings = pings;
      this.sink = sink;
      this.random = new SmallRandom(number);
      this.ping = new BigPing(number);
      this.pong = new BigPong(number);
      this.expected = number; // the first pong is its own
    }

    @Override
    public void onReceive(Object message) {
      if (message instanceof BigPing received) {
        others[received.from].tell(pong, getSelf());
      } else if (message instanceof BigPong received) {
        onPong(received.from);
      } else if (message instanceof Neighbours neighbours) {
        others = neighbours.all;
      } else {
        getContext().stop(getSelf());
      }
    }

    private void onPong(int from) {
      if (from != expected) return; // the sum will be wrong
      if (pongs == pings) {
        sink.tell(new Finished(pongs), getSelf());
        return;
      }
      pongs++;
      expected = random.next() % others.length;
      others[expected].tell(ping, getSelf());
    }
  }

  private static long big(ActorSystem system, Sizes s) throws Exception {
    int actors = (int) s.get("actors");
    long pings = s.get("pings");
    AtomicLong found = new AtomicLong();
    CountDownLatch done = new CountDownLatch(1);
    long began = System.nanoTime();
    ActorRef sink = system.actorOf(Props.create(Sink.class, () -> new Sink(actors, found, done)));
    ActorRef[] all = new ActorRef[actors];
    for (int i = 0; i < actors; i++) {
      int number = i;
      all[i] = system.actorOf(Props.create(Pinger.class, () -> new Pinger(number, pings, sink)));
    }
    Neighbours neighbours = new Neighbours(all);
    for (ActorRef one : all) tell(one, neighbours);
    for (int i = 0; i < actors; i++) tell(all[i], new BigPong(i));
    done.await();
    long took = System.nanoTime() - began;
    for (ActorRef one : all) tell(one, Signal.LEAVE);
    expect(found.get() == actors * pings, "a pong is missing");
    return took;
  }

  // ── dictionary ────────────────────────────────────────────────────────────────────────────────

  private record Read(int key) {}

  private record Write(int key, long value) {}

  private record Value(long value) {}

  private static final class DictionaryRequests {
    private static final long WRITE_PERCENT = 10;

    private final long entries;
    private long random;
    int key;
    boolean writes;

    DictionaryRequests(long client, long entries) {
      this.entries = entries;
      this.random = 88172645463325252L + client;
    }

    void next() {
      random ^= random << 13;
      random ^= random >>> 7;
      random ^= random << 17;
      key = (int) ((random >>> 8) % entries);
      writes = (random & 0xff) * 100 < WRITE_PERCENT * 256;
    }
  }

  private static final class Store extends UntypedAbstractActor {
    private final Map<Integer, Long> values;
    private final AtomicLong found;
    private final CountDownLatch counted;
    private long writes = 0;

    Store(Map<Integer, Long> values, AtomicLong found, CountDownLatch counted) {
      this.values = values;
      this.found = found;
      this.counted = counted;
    }

    @Override
    public void onReceive(Object message) {
      if (message instanceof Read read) {
        getSender().tell(new Value(values.get(read.key)), getSelf());
      } else if (message instanceof Write write) {
        writes++;
        values.put(write.key, write.value);
        getSender().tell(new Value(write.value), getSelf());
      } else {
        found.set(writes);
        counted.countDown();
        getContext().stop(getSelf());
      }
    }
  }

  private static final class Client extends UntypedAbstractActor {
    private final ActorRef of;
    private final long number;
    private final long entries;
    private final DictionaryRequests all;
    private final AtomicLong wrong;
    private final CountDownLatch done;
    private long left;

    Client(ActorRef of, long number, Sizes s, AtomicLong wrong, CountDownLatch done) {
      this.of = of;
      this.number = number;
      this.entries = s.get("entries");
      this.all = new DictionaryRequests(number, entries);
      this.wrong = wrong;
      this.done = done;
      this.left = s.get("requests");
    }

    @Override
    public void onReceive(Object message) {
      if (message instanceof Value value) {
        if (value.value % entries != all.key) wrong.incrementAndGet();
        left--;
      }
      if (left == 0) {
        done.countDown();
        getContext().stop(getSelf());
        return;
      }
      all.next();
      of.tell(
          all.writes ? new Write(all.key, all.key + (number + 1) * entries) : new Read(all.key),
          getSelf());
    }
  }

  private static long dictionary(ActorSystem system, Sizes s) throws Exception {
    int clients = (int) s.get("clients");
    int entries = (int) s.get("entries");
    AtomicLong wrong = new AtomicLong();
    AtomicLong writes = new AtomicLong();
    CountDownLatch done = new CountDownLatch(clients);
    CountDownLatch counted = new CountDownLatch(1);
    Map<Integer, Long> values = new HashMap<>(2 * entries); // before the measurement
    for (int i = 0; i < entries; i++) values.put(i, (long) i);
    ActorRef of =
        system.actorOf(Props.create(Store.class, () -> new Store(values, writes, counted)));
    long began = System.nanoTime();
    for (int i = 0; i < clients; i++) {
      long number = i;
      tell(
          system.actorOf(
              Props.create(Client.class, () -> new Client(of, number, s, wrong, done))),
          Signal.BEGIN);
    }
    done.await();
    long took = System.nanoTime() - began;
    tell(of, Signal.LAST);
    counted.await();
    long expected = 0;
    for (int i = 0; i < clients; i++) {
      DictionaryRequests all = new DictionaryRequests(i, entries);
      for (long k = s.get("requests"); k > 0; k--) {
        all.next();
        if (all.writes) expected++;
      }
    }
    expect(wrong.get() == 0, "a reply belongs to another key");
    expect(writes.get() == expected, "a write is missing");
    return took;
  }

  // ── buffer ────────────────────────────────────────────────────────────────────────────────────

  private static final int BUFFER_CAPACITY = 50;
  private static final int ITEM_COST = 25; // of producing and of consuming

  /** Producing or consuming an item: 2,500 logarithms, whose sum is the same each time. */
  private static double processItem(double term) {
    double result = term;
    SmallRandom random = new SmallRandom(ITEM_COST);
    for (int i = 0; i < 100 * ITEM_COST; i++) result += Math.log(random.nextDouble() + 0.01);
    return result;
  }

  private record Item(double value, int producer) {}

  private record Consume(double value) {}

  private record Available(int consumer) {}

  private static final class Producer extends UntypedAbstractActor {
    private final ActorRef to;
    private final int number;
    private long left;
    private double last = 0;

    Producer(ActorRef to, int number, long items) {
      this.to = to;
      this.number = number;
      this.left = items;
    }

    @Override
    public void onReceive(Object message) {
      if (left == 0) {
        to.tell(Signal.DONE, getSelf());
        getContext().stop(getSelf());
        return;
      }
      left--;
      last = processItem(last);
      to.tell(new Item(last, number), getSelf());
    }
  }

  private static final class Consumer extends UntypedAbstractActor {
    private final ActorRef of;
    private final int number;
    private final double[] sums;
    private final CountDownLatch done;
    private final Available available;
    private double last = 0;

    Consumer(ActorRef of, int number, double[] sums, CountDownLatch done) {
      this.of = of;
      this.number = number;
      this.sums = sums;
      this.done = done;
      this.available = new Available(number);
    }

    @Override
    public void onReceive(Object message) {
      if (message instanceof Consume consume) {
        sums[number] += consume.value;
        last = processItem(last + consume.value);
        of.tell(available, getSelf());
      } else {
        done.countDown();
        getContext().stop(getSelf());
      }
    }
  }

  private static final class Manager extends UntypedAbstractActor {
    private final ActorRef[] producers;
    private final ActorRef[] consumers;
    private final ArrayDeque<Integer> waitingProducers = new ArrayDeque<>();
    private final ArrayDeque<Integer> waitingConsumers = new ArrayDeque<>();
    private final ArrayDeque<Double> items = new ArrayDeque<>();
    private final int most;
    private final long each;
    private final double[] sums;
    private final CountDownLatch done;
    private int ended = 0;

    Manager(int count, long each, double[] sums, CountDownLatch done) {
      producers = new ActorRef[count];
      consumers = new ActorRef[count];
      // Each producer may still have an item on the way when the buffer is found full.
      most = Math.max(BUFFER_CAPACITY - count, 1);
      this.each = each;
      this.sums = sums;
      this.done = done;
    }

    @Override
    public void preStart() {
      ActorSystem system = getContext().getSystem();
      ActorRef self = getSelf();
      for (int i = 0; i < producers.length; i++) {
        int number = i;
        consumers[i] =
            system.actorOf(
                Props.create(Consumer.class, () -> new Consumer(self, number, sums, done)));
        waitingConsumers.add(i);
        producers[i] =
            system.actorOf(Props.create(Producer.class, () -> new Producer(self, number, each)));
      }
      for (ActorRef one : producers) one.tell(Signal.NEXT, self);
    }

    @Override
    public void onReceive(Object message) {
      if (message instanceof Item item) {
        Integer to = waitingConsumers.poll();
        if (to == null) {
          items.add(item.value);
        } else {
          consumers[to].tell(new Consume(item.value), getSelf());
        }
        if (items.size() >= most) {
          waitingProducers.add(item.producer);
        } else {
          producers[item.producer].tell(Signal.NEXT, getSelf());
        }
      } else if (message instanceof Available available) {
        Double value = items.poll();
        if (value == null) {
          waitingConsumers.add(available.consumer);
          endIfDone();
          return;
        }
        consumers[available.consumer].tell(new Consume(value), getSelf());
        Integer to = waitingProducers.poll();
        if (to != null) producers[to].tell(Signal.NEXT, getSelf());
      } else {
        ended++;
        endIfDone();
      }
    }

    private void endIfDone() {
      if (ended < producers.length || waitingConsumers.size() < consumers.length) return;
      for (ActorRef one : consumers) one.tell(Signal.LEAVE, getSelf());
      getContext().stop(getSelf());
    }
  }

  private static long buffer(ActorSystem system, Sizes s) throws Exception {
    int producers = (int) s.get("producers");
    long items = s.get("items");
    double[] sums = new double[producers];
    CountDownLatch done = new CountDownLatch(producers);
    long began = System.nanoTime();
    system.actorOf(Props.create(Manager.class, () -> new Manager(producers, items, sums, done)));
    done.await();
    long took = System.nanoTime() - began;
    double expected = producers * processItem(0) * items * (items + 1) / 2;
    double sum = Arrays.stream(sums).sum();
    // The items were added in any order, so the last digits differ.
    expect(Math.abs(sum - expected) <= 1e-6 * Math.abs(expected), "an item was lost");
    return took;
  }

  // ── logistic ──────────────────────────────────────────────────────────────────────────────────

  private record Term(double value) {}

  private record LastTerm(int series, double value) {}

  private static double rateOfSeries(int number) {
    return 3.46 + 0.0025 * number;
  }

  private static double firstTermOfSeries(int number) {
    return 0.0025 * number;
  }

  private static double nextTerm(double term, double rate) {
    return rate * term * (1 - term);
  }

  private static final class RateComputer extends UntypedAbstractActor {
    private final double rate;

    RateComputer(double rate) {
      this.rate = rate;
    }

    @Override
    public void onReceive(Object message) {
      if (message instanceof Term term) {
        getSender().tell(new Term(nextTerm(term.value, rate)), getSelf());
      } else {
        getContext().stop(getSelf());
      }
    }
  }

  /**
   * A message that arrives while a term is computed only increases the number of terms that are
   * wanted.
   */
  private static final class Series extends UntypedAbstractActor {
    private final ActorRef master;
    private final int number;
    private final ActorRef by;
    private double term;
    private long wanted = 0;
    private boolean ends = false;

    Series(ActorRef master, int number, ActorRef by) {
      this.master = master;
      this.number = number;
      this.by = by;
      this.term = firstTermOfSeries(number);
    }

    @Override
    public void onReceive(Object message) {
      if (message instanceof Term computed) {
        term = computed.value;
        wanted--;
        if (wanted > 0) {
          by.tell(new Term(term), getSelf());
        } else if (ends) {
          end();
        }
      } else if (message == Signal.NEXT) {
        wanted++;
        if (wanted == 1) by.tell(new Term(term), getSelf());
      } else {
        ends = true;
        if (wanted == 0) end();
      }
    }

    private void end() {
      master.tell(new LastTerm(number, term), getSelf());
      by.tell(Signal.LEAVE, getSelf());
      getContext().stop(getSelf());
    }
  }

  private static final class SeriesMaster extends UntypedAbstractActor {
    private final double[] last;
    private final long terms;
    private final CountDownLatch done;
    private int left;

    SeriesMaster(double[] last, long terms, CountDownLatch done) {
      this.last = last;
      this.terms = terms;
      this.done = done;
      this.left = last.length;
    }

    @Override
    public void onReceive(Object message) {
      if (message instanceof LastTerm term) {
        last[term.series] = term.value;
        left--;
        if (left > 0) return;
        done.countDown();
        getContext().stop(getSelf());
        return;
      }
      ActorSystem system = getContext().getSystem();
      ActorRef self = getSelf();
      ActorRef[] all = new ActorRef[last.length];
      for (int i = 0; i < all.length; i++) {
        int number = i;
        ActorRef by =
            system.actorOf(
                Props.create(RateComputer.class, () -> new RateComputer(rateOfSeries(number))));
        all[i] = system.actorOf(Props.create(Series.class, () -> new Series(self, number, by)));
      }
      for (long k = 0; k < terms; k++) {
        for (ActorRef one : all) one.tell(Signal.NEXT, self);
      }
      for (ActorRef one : all) one.tell(Signal.LAST, self);
    }
  }

  private static long logistic(ActorSystem system, Sizes s) throws Exception {
    double[] last = new double[(int) s.get("series")];
    long terms = s.get("terms");
    CountDownLatch done = new CountDownLatch(1);
    long began = System.nanoTime();
    tell(
        system.actorOf(
            Props.create(SeriesMaster.class, () -> new SeriesMaster(last, terms, done))),
        Signal.BEGIN);
    done.await();
    long took = System.nanoTime() - began;
    for (int i = 0; i < last.length; i++) {
      double term = firstTermOfSeries(i);
      for (long k = 0; k < terms; k++) term = nextTerm(term, rateOfSeries(i));
      expect(term == last[i], "a term is wrong");
    }
    return took;
  }

  // ── bank ──────────────────────────────────────────────────────────────────────────────────────

  private record Credit(long amount, ActorRef to) {}

  private record Debit(long amount) {}

  /**
   * All transfers go to an account with a higher number, so that accounts that wait for each other
   * never form a cycle. Requires at least 10 accounts.
   */
  private static final class Transfers {
    private final SmallRandom random = new SmallRandom(123456);
    private final int accounts;
    int from;
    int to;
    int amount;

    Transfers(int accounts) {
      this.accounts = accounts;
    }

    void next() {
      from = random.next() % (accounts / 10 * 8);
      to = from + Math.max(random.next() % (accounts - from), 1);
      amount = random.next() % 1000;
    }
  }

  /** While it waits for a reply, it keeps all other messages, with their senders. */
  private static final class Account extends UntypedAbstractActor {
    private record Kept(Object message, ActorRef sender) {}

    private final ActorRef teller;
    private final int number;
    private final long[] balances;
    private final CountDownLatch done;
    private final ArrayDeque<Kept> kept = new ArrayDeque<>();
    private boolean waits = false;

    Account(ActorRef teller, int number, long[] balances, CountDownLatch done) {
      this.teller = teller;
      this.number = number;
      this.balances = balances;
      this.done = done;
    }

    @Override
    public void onReceive(Object message) {
      if (!waits) {
        handle(message, getSender());
        return;
      }
      if (message != Signal.DONE) {
        kept.add(new Kept(message, getSender()));
        return;
      }
      waits = false;
      teller.tell(Signal.DONE, getSelf());
      while (!waits && !kept.isEmpty()) {
        Kept next = kept.poll();
        handle(next.message, next.sender);
      }
    }

    private void handle(Object message, ActorRef sender) {
      if (message instanceof Credit credit) {
        balances[number] -= credit.amount;
        credit.to.tell(new Debit(credit.amount), getSelf());
        waits = true;
      } else if (message instanceof Debit debit) {
        balances[number] += debit.amount;
        sender.tell(Signal.DONE, getSelf());
      } else {
        done.countDown();
        getContext().stop(getSelf());
      }
    }
  }

  private static final class Teller extends UntypedAbstractActor {
    private final long[] balances;
    private final CountDownLatch done;
    private final ActorRef[] accounts;
    private long left;

    Teller(long[] balances, long transactions, CountDownLatch done) {
      this.balances = balances;
      this.done = done;
      this.accounts = new ActorRef[balances.length];
      this.left = transactions;
    }

    @Override
    public void onReceive(Object message) {
      if (message == Signal.DONE) {
        left--;
        if (left > 0) return;
        for (ActorRef one : accounts) one.tell(Signal.LEAVE, getSelf());
        getContext().stop(getSelf());
        return;
      }
      ActorSystem system = getContext().getSystem();
      ActorRef self = getSelf();
      for (int i = 0; i < accounts.length; i++) {
        int number = i;
        accounts[i] =
            system.actorOf(
                Props.create(Account.class, () -> new Account(self, number, balances, done)));
      }
      Transfers transfers = new Transfers(accounts.length);
      for (long i = left; i > 0; i--) {
        transfers.next();
        accounts[transfers.from].tell(
            new Credit(transfers.amount, accounts[transfers.to]), self);
      }
    }
  }

  private static long bank(ActorSystem system, Sizes s) throws Exception {
    long[] balances = new long[(int) s.get("accounts")];
    long transactions = s.get("transactions");
    CountDownLatch done = new CountDownLatch(balances.length);
    long began = System.nanoTime();
    tell(
        system.actorOf(
            Props.create(Teller.class, () -> new Teller(balances, transactions, done))),
        Signal.BEGIN);
    done.await();
    long took = System.nanoTime() - began;
    long[] expected = new long[balances.length];
    Transfers transfers = new Transfers(balances.length);
    for (long i = 0; i < transactions; i++) {
      transfers.next();
      expected[transfers.from] -= transfers.amount;
      expected[transfers.to] += transfers.amount;
    }
    expect(Arrays.equals(expected, balances), "a balance is wrong");
    return took;
  }

  // ── fibonacci ─────────────────────────────────────────────────────────────────────────────────

  private record Request(long index) {}

  private record Response(long value) {}

  private static final Response ONE = new Response(1);

  private static final class Node extends UntypedAbstractActor {
    private final ActorRef parent;
    private long sum = 0;
    private int responses = 0;

    Node(ActorRef parent) {
      this.parent = parent;
    }

    static Props props(ActorRef parent) {
      return Props.create(Node.class, () -> new Node(parent));
    }

    @Override
    public void onReceive(Object message) {
      if (message instanceof Request request) {
        if (request.index <= 2) {
          respond(ONE);
          return;
        }
        Props child = props(getSelf());
        getContext().actorOf(child).tell(new Request(request.index - 1), getSelf());
        getContext().actorOf(child).tell(new Request(request.index - 2), getSelf());
        return;
      }
      sum += ((Response) message).value;
      responses++;
      if (responses == 2) respond(new Response(sum));
    }

    private void respond(Response response) {
      parent.tell(response, getSelf());
      getContext().stop(getSelf());
    }
  }

  private static final class Root extends UntypedAbstractActor {
    private final AtomicLong found;
    private final CountDownLatch done;

    Root(AtomicLong found, CountDownLatch done) {
      this.found = found;
      this.done = done;
    }

    @Override
    public void onReceive(Object message) {
      if (message instanceof Response response) {
        found.set(response.value);
        done.countDown();
        getContext().stop(getSelf());
      } else {
        getContext().actorOf(Node.props(getSelf())).tell(message, getSelf());
      }
    }
  }

  private static long fibonacci(ActorSystem system, Sizes s) throws Exception {
    long index = s.get("index");
    AtomicLong found = new AtomicLong();
    CountDownLatch done = new CountDownLatch(1);
    long began = System.nanoTime();
    tell(
        system.actorOf(Props.create(Root.class, () -> new Root(found, done))),
        new Request(index));
    done.await();
    long took = System.nanoTime() - began;
    long before = 0;
    long expected = 1;
    for (long i = 1; i < index; i++) {
      long next = before + expected;
      before = expected;
      expected = next;
    }
    expect(found.get() == expected, "the number is wrong");
    return took;
  }

  // ── sieve ─────────────────────────────────────────────────────────────────────────────────────

  private record Candidate(long number) {}

  private static final class Filter extends UntypedAbstractActor {
    private final long before; // how many primes the earlier filters have
    private final long[] primes;
    private final AtomicLong found;
    private final CountDownLatch done;
    private int count = 1;
    private ActorRef next = null;

    Filter(long before, long first, int most, AtomicLong found, CountDownLatch done) {
      this.before = before;
      this.primes = new long[most];
      this.primes[0] = first;
      this.found = found;
      this.done = done;
    }

    static Props props(long before, long first, int most, AtomicLong found, CountDownLatch done) {
      return Props.create(Filter.class, () -> new Filter(before, first, most, found, done));
    }

    private boolean isLocallyPrime(long number) {
      for (int i = 0; i < count; i++) {
        if (number % primes[i] == 0) return false;
      }
      return true;
    }

    @Override
    public void onReceive(Object message) {
      if (message instanceof Candidate candidate) {
        if (!isLocallyPrime(candidate.number)) return;
        if (next != null) {
          next.tell(candidate, getSelf());
        } else if (count < primes.length) {
          primes[count] = candidate.number;
          count++;
        } else {
          next =
              getContext()
                  .getSystem()
                  .actorOf(
                      props(before + primes.length, candidate.number, primes.length, found, done));
        }
        return;
      }
      if (next != null) {
        next.tell(message, getSelf());
      } else {
        found.set(before + count);
        done.countDown();
      }
      getContext().stop(getSelf());
    }
  }

  /** Sends all candidates in one turn, as published. */
  private static final class NumberProducer extends UntypedAbstractActor {
    private final ActorRef to;
    private final long limit;

    NumberProducer(ActorRef to, long limit) {
      this.to = to;
      this.limit = limit;
    }

    @Override
    public void onReceive(Object message) {
      for (long number = 3; number < limit; number += 2) to.tell(new Candidate(number), getSelf());
      to.tell(Signal.LAST, getSelf());
      getContext().stop(getSelf());
    }
  }

  private static long countPrimes(int limit) {
    boolean[] composite = new boolean[limit];
    long count = 0;
    for (int i = 2; i < limit; i++) {
      if (composite[i]) continue;
      count++;
      for (long k = (long) i * i; k < limit; k += i) composite[(int) k] = true;
    }
    return count;
  }

  private static long sieve(ActorSystem system, Sizes s) throws Exception {
    long limit = s.get("limit");
    AtomicLong found = new AtomicLong();
    CountDownLatch done = new CountDownLatch(1);
    long began = System.nanoTime();
    ActorRef first = system.actorOf(Filter.props(0, 2, (int) s.get("primes"), found, done));
    tell(
        system.actorOf(
            Props.create(NumberProducer.class, () -> new NumberProducer(first, limit))),
        Signal.BEGIN);
    done.await();
    long took = System.nanoTime() - began;
    expect(found.get() == countPrimes((int) limit), "the number of primes is wrong");
    return took;
  }

  // ── queens ────────────────────────────────────────────────────────────────────────────────────

  private record Board(byte[] queens, int rows) {}

  /** Savina's check: each pair of queens. */
  private static boolean isValid(byte[] queens, int rows) {
    for (int i = 0; i < rows; i++) {
      for (int j = i + 1; j < rows; j++) {
        int distance = queens[j] - queens[i];
        int apart = j - i;
        if (distance == 0 || distance == apart || distance == -apart) return false;
      }
    }
    return true;
  }

  private static final class Solver extends UntypedAbstractActor {
    private final ActorRef of;
    private final int size;
    private final int threshold;

    Solver(ActorRef of, int size, int threshold) {
      this.of = of;
      this.size = size;
      this.threshold = threshold;
    }

    @Override
    public void onReceive(Object message) {
      if (!(message instanceof Board board)) {
        getContext().stop(getSelf());
        return;
      }
      byte[] queens = board.queens;
      int rows = board.rows;
      if (rows >= threshold || rows == size) {
        place(queens.clone(), rows);
      } else {
        for (int column = 0; column < size; column++) {
          byte[] more = queens.clone();
          more[rows] = (byte) column;
          if (isValid(more, rows + 1)) of.tell(new Board(more, rows + 1), getSelf());
        }
      }
      of.tell(Signal.DONE, getSelf());
    }

    private void place(byte[] queens, int rows) {
      if (rows == size) {
        of.tell(Signal.NEXT, getSelf());
        return;
      }
      for (int column = 0; column < size; column++) {
        queens[rows] = (byte) column;
        if (isValid(queens, rows + 1)) place(queens, rows + 1);
      }
    }
  }

  private static final class QueensMaster extends UntypedAbstractActor {
    private final Sizes sizes;
    private final AtomicLong found;
    private final CountDownLatch done;
    private ActorRef[] solvers;
    private long sent = 0;
    private long solved = 0;
    private long solutions = 0;

    QueensMaster(Sizes sizes, AtomicLong found, CountDownLatch done) {
      this.sizes = sizes;
      this.found = found;
      this.done = done;
    }

    @Override
    public void preStart() {
      int size = (int) sizes.get("size");
      int threshold = (int) sizes.get("threshold");
      ActorRef self = getSelf();
      Props solver = Props.create(Solver.class, () -> new Solver(self, size, threshold));
      solvers = new ActorRef[(int) sizes.get("solvers")];
      for (int i = 0; i < solvers.length; i++) {
        solvers[i] = getContext().getSystem().actorOf(solver);
      }
      passOn(new Board(new byte[size], 0));
    }

    @Override
    public void onReceive(Object message) {
      if (message == Signal.NEXT) {
        solutions++;
      } else if (message == Signal.DONE) {
        solved++;
        if (solved < sent) return;
        found.set(solutions);
        done.countDown();
        for (ActorRef one : solvers) one.tell(Signal.LEAVE, getSelf());
        getContext().stop(getSelf());
      } else {
        passOn(message);
      }
    }

    private void passOn(Object board) {
      solvers[(int) (sent % solvers.length)].tell(board, getSelf());
      sent++;
    }
  }

  private static long queens(ActorSystem system, Sizes s) throws Exception {
    long[] known = {
      1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512
    };
    AtomicLong found = new AtomicLong();
    CountDownLatch done = new CountDownLatch(1);
    long began = System.nanoTime();
    system.actorOf(Props.create(QueensMaster.class, () -> new QueensMaster(s, found, done)));
    done.await();
    long took = System.nanoTime() - began;
    expect(found.get() == known[(int) s.get("size")], "the number of solutions is wrong");
    return took;
  }

  // ── The program ───────────────────────────────────────────────────────────────────────────────

  private static final Map<String, Workload> ALL =
      Map.ofEntries(
          Map.entry("counting", Savina::counting),
          Map.entry("ring", Savina::ring),
          Map.entry("create", Savina::create),
          Map.entry("chameneos", Savina::chameneos),
          Map.entry("big", Savina::big),
          Map.entry("dictionary", Savina::dictionary),
          Map.entry("buffer", Savina::buffer),
          Map.entry("logistic", Savina::logistic),
          Map.entry("bank", Savina::bank),
          Map.entry("fibonacci", Savina::fibonacci),
          Map.entry("sieve", Savina::sieve),
          Map.entry("queens", Savina::queens));

  private record Sizes(Map<String, Long> all) {
    long get(String name) {
      Long value = all.get(name);
      expect(value != null, "the size --" + name + " is missing");
      return value;
    }

    static Sizes read(String[] arguments) {
      Map<String, Long> all = new HashMap<>();
      for (int i = 1; i < arguments.length; i += 2) {
        if (!arguments[i].startsWith("--")) throw new IllegalArgumentException();
        all.put(arguments[i].substring(2), Long.parseLong(arguments[i + 1]));
      }
      return new Sizes(all);
    }
  }

  private static void tell(ActorRef to, Object message) {
    to.tell(message, ActorRef.noSender());
  }

  private static void expect(boolean holds, String otherwise) {
    if (!holds) throw new IllegalStateException(otherwise);
  }

  private static ActorSystem startSystem(long workers) {
    String settings =
        """
        pekko.loglevel = WARNING
        pekko.log-dead-letters = off
        pekko.actor.default-dispatcher {
          executor = fork-join-executor
          fork-join-executor { parallelism-min = %1$d, parallelism-max = %1$d }
        }
        pekko.actor.default-mailbox.mailbox-type =
          "org.apache.pekko.dispatch.SingleConsumerOnlyUnboundedMailbox"
        """;
    return ActorSystem.create(
        "savina",
        ConfigFactory.parseString(settings.formatted(workers)).withFallback(ConfigFactory.load()));
  }

  /** Runs the workload at least once. */
  private static void warmUp(Workload workload, ActorSystem system, Sizes s) throws Exception {
    long until = System.nanoTime() + Duration.ofMillis(s.get("warm_up_ms")).toNanos();
    do {
      workload.run(system, s);
    } while (System.nanoTime() < until);
    System.gc();
  }

  /** Halts without waiting for actors that never end. */
  public static void main(String[] arguments) {
    Workload workload = null;
    Sizes sizes = null;
    try {
      workload = ALL.get(arguments[0]);
      sizes = Sizes.read(arguments);
    } catch (RuntimeException notUnderstood) {
      // workload or sizes are null
    }
    if (workload == null || sizes == null) {
      System.err.println("usage: savina WORKLOAD --workers N --warm_up_ms N [--SIZE N]...");
      Runtime.getRuntime().halt(2);
    }
    try {
      ActorSystem system = startSystem(sizes.get("workers"));
      warmUp(workload, system, sizes);
      System.out.println("time ms " + workload.run(system, sizes) / 1e6);
      System.out.flush();
      Runtime.getRuntime().halt(0);
    } catch (Exception failure) {
      System.err.println(failure.getMessage());
      Runtime.getRuntime().halt(1);
    }
  }
}
