%% SPDX-License-Identifier: Apache-2.0

%% The workloads in Erlang: an actor is a process.
%%
%%   erl … -s workloads main -extra WORKLOAD --workers N [--actors N] [--messages N] [--limit N] [--batch N]
%%
%% It prints one line: `METRIC UNIT VALUE`. The number of schedulers is a flag of erl, which its
%% caller passes as well: see peers/engines.cpp.
%%
%% Choices: players are bare processes. The responder is a gen_server, called with a time-out, as
%% users do it. Processes that receive very many messages keep them off their heap, so that garbage
%% collections do not copy them. Integers of more than 60 bits are slow, so the wall's random number
%% consists of two halves.
-module(workloads).
-behaviour(gen_server).

-export([main/0, version/0]).
-export([player/1, client/3, wall_player/1, wall/4, consumer/3, producer/3, collector/3,
         short_lived/0, idler/3]).
-export([init/1, handle_call/3, handle_cast/2]).

%% batch: actors that the collector of spawn spawns before it yields
-record(sizes, {workers = 0, actors = 0, messages = 0, limit = 0, batch = 64}).

-define(of_idle, "bytes_per_actor bytes").
-define(off_heap, [link, {message_queue_data, off_heap}]).

%% ── pingpong, pairs, ring ──────────────────────────────────────────────────────────────────────

player(Done) ->
    receive {meet, Other} -> play_with(Other, Done) end.

play_with(Other, Done) ->
    receive
        0 -> Done ! done;
        Left -> Other ! Left - 1
    end,
    play_with(Other, Done).

players(Count) ->
    [spawn_link(?MODULE, player, [self()]) || _ <- lists:seq(1, Count)].

introduce([One, Other | More]) ->
    One ! {meet, Other},
    Other ! {meet, One},
    introduce(More);
introduce([]) -> ok.

serve(_, 0, _) -> ok;
serve([One, Other | More], Balls, Hops) ->
    One ! Hops,
    Balls =:= 2 andalso (Other ! Hops),
    serve(More, Balls, Hops);
serve([], _, _) -> ok.

play(#sizes{actors = Actors, messages = Messages}, BallsPerPair) ->
    Balls = Actors div 2 * BallsPerPair,
    Hops = Messages div Balls,
    Players = players(Actors div 2 * 2),
    introduce(Players),
    Began = now_ns(),
    serve(Players, BallsPerPair, Hops),
    wait_for(Balls),
    rate(Hops * Balls, Began).

pingpong(Sizes) -> play(Sizes, 1).
pairs(Sizes) -> play(Sizes, 2).

ring(#sizes{actors = Actors, messages = Messages}) ->
    [First | Others] = Players = players(Actors),
    lists:foreach(fun({One, Next}) -> One ! {meet, Next} end, lists:zip(Players, Others ++ [First])),
    Began = now_ns(),
    First ! Messages,
    wait_for(1),
    rate(Messages, Began).

%% ── ask ────────────────────────────────────────────────────────────────────────────────────────

init([]) -> {ok, none}.
handle_call(Value, _, State) -> {reply, Value + 1, State}.
handle_cast(_, State) -> {noreply, State}.

client(Teller, Questions, Done) ->
    Questions = ask_on(Teller, 0, Questions),
    Done ! done.

%% One request at a time, each with a time-out.
ask_on(_, Value, 0) -> Value;
ask_on(Teller, Value, Left) -> ask_on(Teller, gen_server:call(Teller, Value, 1000), Left - 1).

ask(#sizes{messages = Messages}) ->
    {ok, Teller} = gen_server:start_link(?MODULE, [], []),
    Began = now_ns(),
    spawn_link(?MODULE, client, [Teller, Messages, self()]),
    wait_for(1),
    rate(Messages, Began).

%% ── wall ───────────────────────────────────────────────────────────────────────────────────────

wall_player(Wall) ->
    receive hit -> Wall ! hit end,
    wall_player(Wall).

wall(Left, High, Low, Done) ->
    receive {players, Players} -> wall(Players, Left, High, Low, Done) end.

wall(Players, Left, High, Low, Done) ->
    receive hit -> ok end,
    case Left of
        1 ->
            Done ! done;
        _ ->
            {H, L} = next_random(High, Low),
            Count = tuple_size(Players),
            Chosen = ((H rem Count) * (16#100000000 rem Count) + L) rem Count,
            element(Chosen + 1, Players) ! hit,
            wall(Players, Left - 1, H, L, Done)
    end.

%% x ^= x << 13, x ^= x >> 7, x ^= x << 17, of the two halves of 64 bits.
next_random(H0, L0) ->
    H1 = H0 bxor (((H0 bsl 13) bor (L0 bsr 19)) band 16#FFFFFFFF),
    L1 = L0 bxor ((L0 bsl 13) band 16#FFFFFFFF),
    H2 = H1 bxor (H1 bsr 7),
    L2 = L1 bxor (((H1 bsl 25) bor (L1 bsr 7)) band 16#FFFFFFFF),
    {H2 bxor (((H2 bsl 17) bor (L2 bsr 15)) band 16#FFFFFFFF),
     L2 bxor ((L2 bsl 17) band 16#FFFFFFFF)}.

wall_of_players(#sizes{actors = Actors, messages = Messages}) ->
    Seed = 88172645463325252,
    Wall = spawn_opt(?MODULE, wall,
                     [Messages div 2, Seed bsr 32, Seed band 16#FFFFFFFF, self()], ?off_heap),
    Players = [spawn_link(?MODULE, wall_player, [Wall]) || _ <- lists:seq(1, Actors)],
    Wall ! {players, list_to_tuple(Players)},
    Began = now_ns(),
    lists:foreach(fun(Player) -> Player ! hit end, Players),
    wait_for(1),
    rate(Messages, Began).

%% ── fanin ──────────────────────────────────────────────────────────────────────────────────────

consumer(0, Sum, Done) -> Done ! {sum, Sum};
consumer(Left, Sum, Done) ->
    receive {_Producer, Number} -> consumer(Left - 1, Sum + Number, Done) end.

producer(_, _, 0) -> ok;
producer(To, Producer, Left) ->
    To ! {Producer, Left - 1},
    producer(To, Producer, Left - 1).

fanin(#sizes{limit = Limit}) when Limit =/= 0 -> error("Erlang's mailboxes have no limit");
fanin(#sizes{actors = Actors, messages = Messages}) ->
    Each = Messages div Actors,
    To = spawn_opt(?MODULE, consumer, [Each * Actors, 0, self()], ?off_heap),
    Began = now_ns(),
    [spawn_link(?MODULE, producer, [To, I, Each]) || I <- lists:seq(1, Actors)],
    Sum = receive {sum, S} -> S end,
    Rate = rate(Each * Actors, Began),
    Sum =:= Actors * (Each * (Each - 1) div 2) orelse error("a message was lost"),
    Rate.

%% ── spawn ──────────────────────────────────────────────────────────────────────────────────────

short_lived() ->
    receive {To, Value} -> To ! Value end.

collector(Count, Batch, Done) ->
    spawn_from(0, Count, Batch),
    Sum = add_answers(Count, 0),
    Sum =:= Count * (Count - 1) div 2 orelse error("a reply is wrong"),
    Done ! done.

spawn_from(Count, Count, _) -> ok;
spawn_from(I, Count, Batch) ->
    spawn(?MODULE, short_lived, []) ! {self(), I},
    I rem Batch =:= Batch - 1 andalso erlang:yield(),
    spawn_from(I + 1, Count, Batch).

add_answers(0, Sum) -> Sum;
add_answers(Left, Sum) ->
    receive Value -> add_answers(Left - 1, Sum + Value) end.

spawn_all(#sizes{actors = Actors, batch = Batch}) ->
    Began = now_ns(),
    spawn_opt(?MODULE, collector, [Actors, Batch, self()], ?off_heap),
    wait_for(1),
    rate(Actors, Began).

%% ── idle ───────────────────────────────────────────────────────────────────────────────────────

idler(Started, Count, Done) ->
    atomics:add_get(Started, 1, 1) =:= Count andalso (Done ! done),
    idle_on(0, 0).

idle_on(Sum, Answers) ->
    receive Answer -> idle_on(Sum + Answer, Answers + 1) end.

idle(#sizes{actors = Actors}) ->
    Started = atomics:new(1, []),
    Before = rss_bytes(),
    All = [spawn(?MODULE, idler, [Started, Actors, self()]) || _ <- lists:seq(1, Actors)],
    wait_for(1),  % it is idle when it waits for a message
    After = rss_bytes(),
    Actors = length(All),
    (After - Before) / Actors.

%% ── The program ────────────────────────────────────────────────────────────────────────────────

now_ns() -> erlang:monotonic_time(nanosecond).

rate(Count, Began) -> Count / ((now_ns() - Began) / 1.0e9).

wait_for(0) -> ok;
wait_for(Left) ->
    receive done -> wait_for(Left - 1) end.

rss_bytes() ->
    {ok, Text} = file:read_file("/proc/self/statm"),
    [_Total, Resident | _] = binary:split(Text, <<" ">>, [global]),
    4096 * binary_to_integer(Resident).

workload("pingpong") -> {fun pingpong/1, "rate messages/s"};
workload("pairs") -> {fun pairs/1, "rate messages/s"};
workload("ring") -> {fun ring/1, "rate messages/s"};
workload("ask") -> {fun ask/1, "rate messages/s"};
workload("wall") -> {fun wall_of_players/1, "rate messages/s"};
workload("fanin") -> {fun fanin/1, "rate messages/s"};
workload("spawn") -> {fun spawn_all/1, "rate actors/s"};
workload("idle") -> {fun idle/1, ?of_idle}.

read(["--workers", N | More], Sizes) -> read(More, Sizes#sizes{workers = list_to_integer(N)});
read(["--actors", N | More], Sizes) -> read(More, Sizes#sizes{actors = list_to_integer(N)});
read(["--messages", N | More], Sizes) -> read(More, Sizes#sizes{messages = list_to_integer(N)});
read(["--limit", N | More], Sizes) -> read(More, Sizes#sizes{limit = list_to_integer(N)});
read(["--batch", N | More], Sizes) -> read(More, Sizes#sizes{batch = list_to_integer(N)});
read([], #sizes{workers = Workers} = Sizes) when Workers > 0 -> Sizes.

understood([Name | Options]) ->
    {Run, What} = workload(Name),
    {Run, What, read(Options, #sizes{})}.

main() ->
    try understood(init:get_plain_arguments()) of
        {Run, What, Sizes} -> measure(Run, What, Sizes)
    catch
        error:_ ->
            io:format(standard_error, "usage: workloads WORKLOAD --workers N [--actors N] "
                      "[--messages N] [--limit N] [--batch N]~n", []),
            halt(2)
    end.

%% The second run is measured. The first one has a process of its own, and its actors are linked with
%% it: they end when it does.
run_before(Run, Sizes) ->
    {_, Monitor} = spawn_monitor(fun() -> Run(Sizes), exit(shutdown) end),
    receive
        {'DOWN', Monitor, _, _, shutdown} -> ok;
        {'DOWN', Monitor, _, _, Why} -> error(Why)
    end.

%% Halts without waiting for processes that never end. If a process fails, this one fails too.
measure(Run, What, #sizes{workers = Workers} = Sizes) ->
    try
        Online = erlang:system_info(schedulers_online),
        Workers =:= Online orelse
            error(lists:flatten(io_lib:format("--workers ~b, but erl was started with ~b schedulers"
                                              " (+S)", [Workers, Online]))),
        What =:= ?of_idle orelse run_before(Run, Sizes),
        io:format("~s ~.6f~n", [What, float(Run(Sizes))]),
        halt(0)
    catch
        error:Why ->
            io:format(standard_error, "~p~n", [Why]),
            halt(1)
    end.

version() ->
    Release = erlang:system_info(otp_release),
    File = filename:join([code:root_dir(), "releases", Release, "OTP_VERSION"]),
    Version = case file:read_file(File) of
        {ok, Text} -> string:trim(Text);
        _ -> Release
    end,
    io:format("~s ~s ~s~n", [Version, erlang:system_info(version), erlang:system_info(emu_flavor)]),
    halt(0).
