// SPDX-License-Identifier: Apache-2.0

import static org.apache.pekko.pattern.Patterns.ask;
import static org.apache.pekko.pattern.Patterns.pipe;

import com.typesafe.config.ConfigFactory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.pekko.actor.AbstractActor;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.Props;
import org.apache.pekko.actor.UntypedAbstractActor;

/**
 * The workloads in Pekko: classic actors, on which typed actors are built.
 *
 * <pre>workloads WORKLOAD --workers N [--actors N] [--messages N] [--limit N] [--batch N]</pre>
 *
 * It prints one line: `METRIC UNIT VALUE`.
 *
 * <p>Choices: one dispatcher with as many threads as workers, and the mailbox for one reader, which
 * is faster than the default one. An actor with much work does 64 units of it in a turn and then
 * sends itself a message. Memory, CPU time and switches are those of the whole process.
 */
public final class Workloads {
  private static final int BATCH = 64;

  private record Sizes(int workers, int actors, long messages, long limit, int batch) {}

  private interface Workload {
    double run(ActorSystem system, Sizes s) throws Exception;
  }

  private enum Signal { STEP, HIT }

  // ── pingpong, pairs, ring ─────────────────────────────────────────────────────────────────────

  private record Meet(ActorRef other) {}

  private record Ball(long left) {}

  private static final class Player extends UntypedAbstractActor {
    private final CountDownLatch done;
    private ActorRef other;

    Player(CountDownLatch done) {
      this.done = done;
    }

    @Override
    public void onReceive(Object message) {
      if (message instanceof Ball ball) {
        if (ball.left == 0) {
          done.countDown();
        } else {
          other.tell(new Ball(ball.left - 1), getSelf());
        }
      } else if (message instanceof Meet meet) {
        other = meet.other;
      }
    }
  }

  private static List<ActorRef> players(ActorSystem system, int count, CountDownLatch done) {
    List<ActorRef> players = new ArrayList<>(count);
    Props props = Props.create(Player.class, () -> new Player(done));
    for (int i = 0; i < count; i++) players.add(system.actorOf(props));
    return players;
  }

  private static double play(ActorSystem system, Sizes s, int ballsPerPair) throws Exception {
    int balls = s.actors / 2 * ballsPerPair;
    long hops = s.messages / balls;
    CountDownLatch done = new CountDownLatch(balls);
    List<ActorRef> players = players(system, s.actors / 2 * 2, done);
    for (int i = 0; i < players.size(); i++) tell(players.get(i), new Meet(players.get(i ^ 1)));
    long began = System.nanoTime();
    for (int i = 0; i < players.size(); i += 2) {
      for (int k = 0; k < ballsPerPair; k++) tell(players.get(i + k), new Ball(hops));
    }
    done.await();
    double rate = rate(hops * balls, began);
    players.forEach(system::stop);
    return rate;
  }

  private static double pingpong(ActorSystem system, Sizes s) throws Exception {
    return play(system, s, 1);
  }

  private static double pairs(ActorSystem system, Sizes s) throws Exception {
    return play(system, s, 2);
  }

  private static double ring(ActorSystem system, Sizes s) throws Exception {
    CountDownLatch done = new CountDownLatch(1);
    List<ActorRef> players = players(system, s.actors, done);
    for (int i = 0; i < s.actors; i++) {
      tell(players.get(i), new Meet(players.get((i + 1) % s.actors)));
    }
    long began = System.nanoTime();
    tell(players.get(0), new Ball(s.messages));
    done.await();
    double rate = rate(s.messages, began);
    players.forEach(system::stop);
    return rate;
  }

  // ── ask ───────────────────────────────────────────────────────────────────────────────────────

  private record Question(long value) {}

  private record Answer(long value) {}

  private static final class Teller extends UntypedAbstractActor {
    @Override
    public void onReceive(Object message) {
      getSender().tell(new Answer(((Question) message).value + 1), getSelf());
    }
  }

  /**
   * One request at a time, each with a time-out. The form of ask() that returns a CompletionStage
   * would complete it in Java's common pool, which creates a thread for each reply on two cores.
   */
  private static final class Client extends UntypedAbstractActor {
    private final ActorRef to;
    private final long questions;
    private final CountDownLatch done;

    Client(ActorRef to, long questions, CountDownLatch done) {
      this.to = to;
      this.questions = questions;
      this.done = done;
    }

    @Override
    public void onReceive(Object message) {
      long value = ((Answer) message).value;
      if (value == questions) {
        done.countDown();
      } else {
        pipe(ask(to, new Question(value), 1000), getContext().dispatcher()).to(getSelf());
      }
    }
  }

  private static double askInTurn(ActorSystem system, Sizes s) throws Exception {
    CountDownLatch done = new CountDownLatch(1);
    ActorRef to = system.actorOf(Props.create(Teller.class, Teller::new));
    ActorRef from =
        system.actorOf(Props.create(Client.class, () -> new Client(to, s.messages, done)));
    long began = System.nanoTime();
    tell(from, new Answer(0));
    done.await();
    double rate = rate(s.messages, began);
    system.stop(from);
    system.stop(to);
    return rate;
  }

  // ── wall ──────────────────────────────────────────────────────────────────────────────────────

  private static final class WallPlayer extends UntypedAbstractActor {
    private final ActorRef wall;

    WallPlayer(ActorRef wall) {
      this.wall = wall;
    }

    @Override
    public void onReceive(Object message) {
      wall.tell(message, getSelf());
    }
  }

  private static final class Wall extends AbstractActor {
    private final CountDownLatch done;
    private long left;
    private List<ActorRef> players;
    private long random = 88172645463325252L;

    Wall(long hits, CountDownLatch done) {
      this.left = hits;
      this.done = done;
    }

    @Override
    public Receive createReceive() {
      return receiveBuilder()
          .matchEquals(Signal.HIT, this::onHit)
          .match(List.class, this::onPlayers)
          .build();
    }

    @SuppressWarnings("unchecked")
    private void onPlayers(List<?> all) {
      players = (List<ActorRef>) all;
    }

    private void onHit(Signal hit) {
      if (left == 0) return;
      left--;
      if (left == 0) {
        done.countDown();
        return;
      }
      random ^= random << 13;
      random ^= random >>> 7;
      random ^= random << 17;
      players.get((int) Long.remainderUnsigned(random, players.size())).tell(hit, getSelf());
    }
  }

  private static double wallOfPlayers(ActorSystem system, Sizes s) throws Exception {
    CountDownLatch done = new CountDownLatch(1);
    ActorRef wall =
        system.actorOf(Props.create(Wall.class, () -> new Wall(s.messages / 2, done)));
    List<ActorRef> players = new ArrayList<>(s.actors);
    Props props = Props.create(WallPlayer.class, () -> new WallPlayer(wall));
    for (int i = 0; i < s.actors; i++) players.add(system.actorOf(props));
    tell(wall, players);
    long began = System.nanoTime();
    for (ActorRef each : players) tell(each, Signal.HIT);
    done.await();
    double rate = rate(s.messages, began);
    players.forEach(system::stop);
    system.stop(wall);
    return rate;
  }

  // ── fanin ─────────────────────────────────────────────────────────────────────────────────────

  private record Item(long producer, long number) {}

  private static final class Consumer extends UntypedAbstractActor {
    private final AtomicLong sum;
    private final CountDownLatch done;
    private long left;
    private long added = 0;

    Consumer(long expected, AtomicLong sum, CountDownLatch done) {
      this.left = expected;
      this.sum = sum;
      this.done = done;
    }

    @Override
    public void onReceive(Object message) {
      added += ((Item) message).number;
      left--;
      if (left == 0) {
        sum.set(added);
        done.countDown();
      }
    }
  }

  private static final class Producer extends UntypedAbstractActor {
    private final ActorRef to;
    private final long number;
    private final long count;
    private long sent = 0;

    Producer(ActorRef to, long number, long count) {
      this.to = to;
      this.number = number;
      this.count = count;
    }

    @Override
    public void onReceive(Object step) {
      for (int i = 0; i < BATCH && sent < count; i++) {
        to.tell(new Item(number, sent), getSelf());
        sent++;
      }
      if (sent < count) getSelf().tell(step, getSelf());
    }
  }

  private static double fanin(ActorSystem system, Sizes s) throws Exception {
    if (s.limit != 0) {
      throw new IllegalArgumentException("who sends to a full mailbox of Pekko's blocks its thread");
    }
    long each = s.messages / s.actors;
    AtomicLong sum = new AtomicLong();
    CountDownLatch done = new CountDownLatch(1);
    ActorRef to =
        system.actorOf(Props.create(Consumer.class, () -> new Consumer(each * s.actors, sum, done)));
    List<ActorRef> producers = new ArrayList<>();
    for (int i = 0; i < s.actors; i++) {
      long number = i;
      producers.add(
          system.actorOf(Props.create(Producer.class, () -> new Producer(to, number, each))));
    }
    long began = System.nanoTime();
    for (ActorRef one : producers) tell(one, Signal.STEP);
    done.await();
    double rate = rate(each * s.actors, began);
    expect(sum.get() == s.actors * (each * (each - 1) / 2), "a message was lost");
    producers.forEach(system::stop);
    system.stop(to);
    return rate;
  }

  // ── spawn ─────────────────────────────────────────────────────────────────────────────────────

  private static final class ShortLived extends UntypedAbstractActor {
    @Override
    public void onReceive(Object question) {
      getSender().tell(new Answer(((Question) question).value), getSelf());
      getContext().stop(getSelf());
    }
  }

  private static final class Collector extends UntypedAbstractActor {
    private static final Props CHILD = Props.create(ShortLived.class, ShortLived::new);

    private final long count;
    private final int batch;
    private final AtomicLong sum;
    private final CountDownLatch done;
    private long spawned = 0;
    private long answers = 0;
    private long added = 0;

    Collector(long count, int batch, AtomicLong sum, CountDownLatch done) {
      this.count = count;
      this.batch = batch;
      this.sum = sum;
      this.done = done;
    }

    @Override
    public void onReceive(Object message) {
      if (message instanceof Answer answer) {
        added += answer.value;
        answers++;
        if (answers == count) {
          sum.set(added);
          done.countDown();
        }
        return;
      }
      for (int i = 0; i < batch && spawned < count; i++) {
        getContext().actorOf(CHILD).tell(new Question(spawned), getSelf());
        spawned++;
      }
      if (spawned < count) getSelf().tell(message, getSelf());
    }
  }

  private static double spawn(ActorSystem system, Sizes s) throws Exception {
    long count = s.actors;
    AtomicLong sum = new AtomicLong();
    CountDownLatch done = new CountDownLatch(1);
    long began = System.nanoTime();
    ActorRef collector =
        system.actorOf(Props.create(Collector.class, () -> new Collector(count, s.batch, sum, done)));
    tell(collector, Signal.STEP);
    done.await();
    double rate = rate(count, began);
    expect(sum.get() == count * (count - 1) / 2, "a reply is wrong");
    system.stop(collector);
    return rate;
  }

  // ── idle ──────────────────────────────────────────────────────────────────────────────────────

  private static final class Idler extends UntypedAbstractActor {
    private long sum = 0;
    private long answers = 0;

    Idler(CountDownLatch started) {
      started.countDown();
    }

    @Override
    public void onReceive(Object message) {
      sum += ((Answer) message).value;
      answers++;
    }
  }

  /** Returns the resident memory after a collection, which returns free memory. */
  private static double idle(ActorSystem system, Sizes s) throws Exception {
    CountDownLatch started = new CountDownLatch(s.actors);
    List<ActorRef> all = new ArrayList<>(s.actors);
    Props props = Props.create(Idler.class, () -> new Idler(started));
    System.gc();
    long before = rssBytes();
    for (int i = 0; i < s.actors; i++) all.add(system.actorOf(props));
    started.await();
    System.gc();
    long after = rssBytes();
    expect(all.size() == s.actors, "an actor is missing");
    return (double) (after - before) / s.actors;
  }

  // ── The program ───────────────────────────────────────────────────────────────────────────────

  private static final Map<String, Workload> ALL =
      Map.of(
          "pingpong", Workloads::pingpong,
          "pairs", Workloads::pairs,
          "ring", Workloads::ring,
          "ask", Workloads::askInTurn,
          "wall", Workloads::wallOfPlayers,
          "fanin", Workloads::fanin,
          "spawn", Workloads::spawn,
          "idle", Workloads::idle);

  private static void tell(ActorRef to, Object message) {
    to.tell(message, ActorRef.noSender());
  }

  private static double rate(long count, long began) {
    return count / ((System.nanoTime() - began) / 1e9);
  }

  private static void expect(boolean holds, String otherwise) {
    if (!holds) throw new IllegalStateException(otherwise);
  }

  private static long rssBytes() throws IOException {
    return 4096 * Long.parseLong(Files.readString(Path.of("/proc/self/statm")).split(" ")[1]);
  }

  private static ActorSystem startSystem(int workers) {
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
        "workloads",
        ConfigFactory.parseString(settings.formatted(workers)).withFallback(ConfigFactory.load()));
  }

  private static Sizes read(String[] arguments) {
    int workers = 0;
    int actors = 0;
    long messages = 0;
    long limit = 0;
    int batch = 64;
    for (int i = 1; i < arguments.length; i += 2) {
      long value = Long.parseLong(arguments[i + 1]);
      switch (arguments[i]) {
        case "--workers" -> workers = Math.toIntExact(value);
        case "--actors" -> actors = Math.toIntExact(value);
        case "--messages" -> messages = value;
        case "--limit" -> limit = value;
        case "--batch" -> batch = Math.toIntExact(value);
        default -> throw new IllegalArgumentException();
      }
    }
    if (workers <= 0) throw new IllegalArgumentException();
    return new Sizes(workers, actors, messages, limit, batch);
  }

  /** Halts without waiting for actors that never end. */
  public static void main(String[] arguments) {
    Workload workload = null;
    Sizes sizes = null;
    try {
      workload = ALL.get(arguments[0]);
      sizes = read(arguments);
    } catch (RuntimeException notUnderstood) {
      // workload or sizes are null
    }
    if (workload == null || sizes == null) {
      System.err.println(
          "usage: workloads WORKLOAD --workers N [--actors N] [--messages N] [--limit N] "
              + "[--batch N]");
      Runtime.getRuntime().halt(2);
    }
    try {
      String name = arguments[0];
      ActorSystem system = startSystem(sizes.workers);
      if (!name.equals("idle")) { // the second run is measured
        workload.run(system, sizes);
        System.gc(); // the garbage of the first run is not part of it
      }
      double value = workload.run(system, sizes);
      String what =
          name.equals("idle")
              ? "bytes_per_actor bytes"
              : name.equals("spawn") ? "rate actors/s" : "rate messages/s";
      System.out.println(what + " " + value);
      System.out.flush();
      Runtime.getRuntime().halt(0);
    } catch (Exception failure) {
      System.err.println(failure.getMessage());
      Runtime.getRuntime().halt(1);
    }
  }
}
