%% Lets an Erlang program take part in toll's runs: it speaks protocol 1 (docs/protocol.md).
%%
%% A contender is a map:
%%   workload, name, library, unit, per: binaries;
%%   parameters: list of {Name, Default, Unit, Meaning}; a default of <<"cpus">> is the number of schedulers.
%%   {Name, Default, Unit, Meaning, Only}: the default, which may be a word, is the only value here, and no
%%   argument; Only says why;
%%   set_up: fun(Arguments) -> State, where Arguments maps parameters to integers. Not timed.
%% A state is a map: run: fun() -> Answer; expected: the right answer; units: what `per` counts in each
%% iteration; footing: what it stands on, as observed; details (optional): fun() -> map of more numbers about
%% the batch just run, as suite.toml declares them. fail/2 answers an error of protocol 1.
-module(toll).
-export([main/1, fail/2, use_schedulers/1, require_processes/1]).

-define(WARMUP_LIMIT_NS, 1000000000).
-define(PROCESS_BYTES, 2704).  % 338 words at first, with the heap
-define(MOST_ITERATIONS, (1 bsl 53)).
-define(BITS_64, 16#FFFFFFFFFFFFFFFF).

fail(Kind, Message) -> throw({toll, Kind, unicode:characters_to_binary(Message)}).

%% Puts as many schedulers online as are asked for, and says how many there are; fails where that cannot be.
use_schedulers(Threads) ->
    Schedulers = erlang:system_info(schedulers),
    Threads >= 1 andalso Threads =< Schedulers orelse fail(unsupported, io_lib:format(
        "the emulator has ~p schedulers; ask for threads=1 to ~p, not ~p", [Schedulers, Schedulers, Threads])),
    erlang:system_flag(schedulers_online, Threads),
    erlang:system_info(schedulers_online).

%% Says the emulator's limit of processes. So many may live at once: fails where the emulator was started for fewer, or they
%% would take half of the memory.
require_processes(Count) ->
    Limit = erlang:system_info(process_limit),
    Count < Limit - 1000 orelse fail(resource, io_lib:format(
        "up to ~p processes may live at once, and the emulator was started for ~p (+P)", [Count, Limit])),
    Bytes = Count * ?PROCESS_BYTES,
    Bytes =< toll_resources:memory_bytes() div 2 orelse fail(resource, io_lib:format(
        "up to ~p processes may live at once and take ~p MiB, more than half of the memory here",
        [Count, Bytes bsr 20])),
    Limit.

%% Runs one command line and ends the emulator.
main(Contenders) ->
    ok = io:setopts(standard_io, [binary, {encoding, utf8}]),
    Words = [unicode:characters_to_binary(Word) || Word <- init:get_plain_arguments()],
    Code = try run(Contenders, Words) catch Class:Reason -> ended(Class, Reason, Words) end,
    erlang:halt(Code).

run(Contenders, [<<"describe">>]) -> write(description(Contenders)), 0;
run(Contenders, [<<"serve">> | Words]) -> serve(Contenders, Words), 0;
run(Contenders, Words) -> show(Contenders, Words), 0.

ended(Class, Reason, Words) ->
    {Kind, Message} = case Reason of
        {toll, Known, Sentence} -> {Known, Sentence};
        system_limit -> {resource, <<"a limit of the emulator is reached (processes, atoms or ports)">>};
        _ -> {internal, unicode:characters_to_binary(io_lib:format("~p: ~0p", [Class, Reason]))}
    end,
    case Words of
        [<<"serve">> | _] -> catch write(#{type => error, kind => Kind, message => Message}), 1;
        _ -> io:format(standard_error, "~ts~n", [Message]), 2
    end.

description(Contenders) ->
    #{type => description, protocol => 1, language => <<"Erlang">>, compiler => <<"OTP ", (version())/binary>>,
      contenders => [offered(Contender) || Contender <- Contenders]}.

offered(#{workload := Workload, name := Name, library := Library, unit := Unit, per := Per} = Contender) ->
    #{workload => Workload, contender => Name, library => Library, library_version => <<"OTP ", (version())/binary>>,
      kind => batch, unit => Unit, per => Per,
      parameters => [described(Parameter) || Parameter <- maps:get(parameters, Contender)]}.

described({Name, Default, Unit, Meaning, _Only}) -> described({Name, Default, Unit, Meaning});
described({Name, Default, Unit, Meaning}) -> #{name => Name, default => Default, unit => Unit, meaning => Meaning}.

version() -> list_to_binary(erlang:system_info(otp_release) ++ ", erts-" ++ erlang:system_info(version)).

serve(Contenders, [Workload, Name | Words]) ->
    #{cpu_ns := ProcessNs} = toll_resources:now(),
    Started = erlang:monotonic_time(nanosecond),
    State = set_up(Contenders, Workload, Name, Words),
    SetupNs = erlang:monotonic_time(nanosecond) - Started,
    toll_resources:now(),  % thrown away: the first readings take longer than those that they are held against
    Footing = maps:get(footing, State),
    write(#{type => ready, protocol => 1, setup_ns => SetupNs, process_ns => ProcessNs,
            clock => toll_resources:clock(), footing => Footing#{cpu_time => toll_resources:footing()},
            warmup_limit_ns => ?WARMUP_LIMIT_NS}),
    answer_all(State);
serve(_, _) -> fail(usage, "serve needs WORKLOAD CONTENDER, then name=value ...").

answer_all(State) ->
    case io:get_line(standard_io, "") of
        eof -> ok;
        {error, Reason} -> fail(internal, io_lib:format("cannot read a request: ~p", [Reason]));
        Line ->
            Reply = answer(State, request(Line)),
            write(Reply),
            case Reply of
                #{type := stopped} -> ok;
                _ -> answer_all(State)
            end
    end.

request(Line) ->
    try toll_json:decode(Line) of
        Request when is_map(Request) -> Request;
        _ -> fail(usage, "a request that is not one of protocol 1: not an object")
    catch
        error:{json, What} -> fail(usage, ["a request that is not one of protocol 1: ", What])
    end.

answer(State, #{<<"type">> := <<"batch">>} = Request) ->
    case maps:get(<<"iterations">>, Request, missing) of
        Count when is_integer(Count), Count >= 1, Count =< ?MOST_ITERATIONS -> batch(State, Count);
        _ -> fail(usage, "batch needs iterations between 1 and 2^53")
    end;
answer(_, #{<<"type">> := <<"allocations">>}) ->
    fail(unsupported, "Erlang allocates without malloc: nothing to count");
answer(_, #{<<"type">> := <<"samples">>}) ->
    fail(usage, "this contender is timed in batches: ask for batch");
answer(_, #{<<"type">> := <<"stop">>}) -> #{type => stopped};
answer(_, Request) ->
    fail(usage, io_lib:format("unknown request type ~0p", [maps:get(<<"type">>, Request, none)])).

batch(#{run := Run, expected := One, units := Units} = State, Iterations) ->
    Before = toll_resources:now(),
    Started = erlang:monotonic_time(nanosecond),
    Sum = repeat(Run, Iterations, 0),
    WallNs = erlang:monotonic_time(nanosecond) - Started,
    Used = toll_resources:used_since(Before),
    Expected = (Iterations * One) band ?BITS_64,
    Sum =:= Expected orelse fail(wrong_answer, io_lib:format("the sum is ~p instead of ~p", [Sum, Expected])),
    Details = case State of
        #{details := Told} -> #{details => Told()};
        _ -> #{}
    end,
    maps:merge(Details, Used#{type => batch, iterations => Iterations, units => Iterations * Units, wall_ns => WallNs,
          checksum => integer_to_binary(Sum),
          counters => #{reason => <<"Erlang programs count no hardware events">>}}).

repeat(_, 0, Sum) -> Sum;
repeat(Run, Left, Sum) -> repeat(Run, Left - 1, (Sum + Run()) band ?BITS_64).

set_up(Contenders, Workload, Name, Words) ->
    case [C || #{workload := W, name := N} = C <- Contenders, W =:= Workload, N =:= Name] of
        [#{parameters := Parameters, set_up := SetUp}] -> SetUp(arguments(Parameters, Words));
        [] -> fail(usage, ["no contender ", Workload, " ", Name, " in this program"])
    end.

arguments(Parameters, Words) ->
    Defaults = maps:from_list([{element(1, Parameter), element(2, Parameter)} || Parameter <- Parameters]),
    Texts = lists:foldl(fun given/2, Defaults, Words),
    [fail(unsupported, [Name, "=", maps:get(Name, Texts), ": ", Only, "; ask for ", Name, "=", Default])
     || {Name, Default, _, _, Only} <- Parameters, maps:get(Name, Texts) =/= Default],
    maps:map(fun number/2, maps:without([Name || {Name, _, _, _, _} <- Parameters], Texts)).

given(Word, Texts) ->
    case binary:split(Word, <<"=">>) of
        [Name, Value] when is_map_key(Name, Texts) -> Texts#{Name := Value};
        _ -> fail(usage, [Word, " is not name=value with a parameter of this contender"])
    end.

number(_, <<"cpus">>) -> erlang:system_info(schedulers);
number(Name, Text) ->
    case re:run(Text, "^[0-9]{1,20}$") of
        {match, _} -> binary_to_integer(Text);
        nomatch -> fail(usage, [Name, "=", Text, " is not a whole number"])
    end.

%% By hand: every contender, or the one named, as a readable table.
show(_, [Help | _]) when Help =:= <<"--help">>; Help =:= <<"-h">>; Help =:= <<"help">> ->
    io:format("PROGRAM [CONTENDER] [name=value ...] | describe | serve WORKLOAD CONTENDER [name=value ...]~n");
show(Contenders, Words) ->
    {Names, Values} = lists:partition(fun(Word) -> binary:match(Word, <<"=">>) =:= nomatch end, Words),
    Known = [Name || #{name := Name} <- Contenders],
    [fail(usage, ["no contender ", Name, " in this program"]) || Name <- Names, not lists:member(Name, Known)],
    [show_one(C, set_up(Contenders, W, N, Values))
     || #{workload := W, name := N} = C <- Contenders, Names =:= [] orelse lists:member(N, Names)].

show_one(#{name := Name, unit := Unit, per := Per}, State) ->
    lists:foreach(fun(What) ->
        #{wall_ns := Wall, cpu_ns := Cpu, units := Units} = batch(State, 1),
        io:format("~-24ts ~s ~10.1f ~ts/~ts  CPU time ~10.1f  ~ts~n",
                  [Name, What, Wall / Units, Unit, Per, Cpu / Units, toll_json:encode(maps:get(footing, State))])
    end, ["cold", "warm", "warm"]).

write(Message) -> ok = io:put_chars(standard_io, [toll_json:encode(Message), "\n"]).
