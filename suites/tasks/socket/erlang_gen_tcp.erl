%% tasks/socket in Erlang: a process for each end of a connection, which owns its socket and blocks in gen_tcp:recv/2.
%% A passive socket, since an end waits for nothing but its peer: {active, once} is for those that listen to others too.
-module(erlang_gen_tcp).
-export([main/0]).

-define(SCHEDULERS, 2).  % goroutines have as many threads: one for each side
-define(LOOPBACK, {127, 0, 0, 1}).
-define(BYTES, 64).
-define(OPTIONS, [binary, {packet, raw}, {active, false}, {nodelay, true}]).

request(N) ->
    <<N:64/little, (N + 1):64/little, (N + 2):64/little, (N + 3):64/little,
      (N + 4):64/little, (N + 5):64/little, (N + 6):64/little, (N + 7):64/little>>.

answer(<<A:64/little, B:64/little, C:64/little, D:64/little, E:64/little, F:64/little, G:64/little, H:64/little>>) ->
    <<(2 * A):64/little, (2 * B):64/little, (2 * C):64/little, (2 * D):64/little,
      (2 * E):64/little, (2 * F):64/little, (2 * G):64/little, (2 * H):64/little>>.

%% Twice the number, if that is the answer to the request of this number, else 0.
checked(<<A:64/little, B:64/little, C:64/little, D:64/little, E:64/little, F:64/little, G:64/little, H:64/little>>, N)
        when A =:= 2 * N, B =:= 2 * (N + 1), C =:= 2 * (N + 2), D =:= 2 * (N + 3), E =:= 2 * (N + 4), F =:= 2 * (N + 5),
             G =:= 2 * (N + 6), H =:= 2 * (N + 7) -> A;
checked(_, _) -> 0.

%% Until the client has closed, which is where the emulator ends.
serve(Socket) ->
    case gen_tcp:recv(Socket, ?BYTES) of
        {ok, Request} ->
            ok = gen_tcp:send(Socket, answer(Request)),
            serve(Socket);
        {error, closed} -> ok
    end.

client(Socket, First, Count, Caller) ->
    receive ask -> Caller ! {answered, ask(Socket, First, Count, 0)} end,
    client(Socket, First, Count, Caller).

ask(_, _, 0, Sum) -> Sum;
ask(Socket, Number, Left, Sum) ->
    ok = gen_tcp:send(Socket, request(Number)),
    {ok, Answer} = gen_tcp:recv(Socket, ?BYTES),
    ask(Socket, Number + 1, Left - 1, Sum + checked(Answer, Number)).

run(Clients) ->
    [Client ! ask || Client <- Clients],
    sum(length(Clients), 0).

sum(0, Sum) -> Sum;
sum(Left, Sum) ->
    receive
        {answered, One} -> sum(Left - 1, Sum + One);
        {'EXIT', _, Reason} -> toll:fail(internal, io_lib:format("an end of a connection has ended: ~0p", [Reason]))
    end.

%% A client for each share of the requests, linked to who calls, which is told when one ends.
connected(Shares) ->
    process_flag(trap_exit, true),
    try
        {ok, Listener} = gen_tcp:listen(0, [{ip, ?LOOPBACK} | ?OPTIONS]),
        {ok, Port} = inet:port(Listener),
        Clients = [connected(Listener, Port, Share) || Share <- Shares],
        ok = gen_tcp:close(Listener),
        Clients
    catch
        error:{badmatch, {error, Reason}} ->
            toll:fail(resource, ["cannot connect over loopback: ", inet:format_error(Reason)])
    end.

connected(Listener, Port, {First, Count}) ->
    {ok, Asking} = gen_tcp:connect(?LOOPBACK, Port, ?OPTIONS),
    {ok, Answering} = gen_tcp:accept(Listener),
    Caller = self(),
    owned(Answering, fun() -> serve(Answering) end),
    owned(Asking, fun() -> client(Asking, First, Count, Caller) end).

owned(Socket, Loop) ->
    Owner = spawn_link(Loop),
    ok = gen_tcp:controlling_process(Socket, Owner),
    Owner.

%% Numbers of the requests of each connection: the first one, and how many.
shares(Requests, Connections) ->
    {Each, Longer} = {Requests div Connections, Requests rem Connections},
    [case Index < Longer of
         true -> {1 + Index * (Each + 1), Each + 1};
         false -> {1 + Index * Each + Longer, Each}
     end || Index <- lists:seq(0, Connections - 1)].

set_up(#{<<"requests">> := Requests, <<"connections">> := Connections}) ->
    Requests >= 1 andalso Requests =< 1000000000 orelse toll:fail(usage, "requests must be 1 to 1000000000"),
    Connections >= 1 andalso Connections =< 400 orelse toll:fail(usage, "connections must be 1 to 400"),
    Schedulers = toll:use_schedulers(?SCHEDULERS),
    Clients = connected(shares(Requests, Connections)),
    #{run => fun() -> run(Clients) end,
      expected => Requests * (Requests + 1),
      units => Requests,
      footing => #{connections => Connections, threads => Schedulers}}.

main() ->
    toll:main([#{workload => <<"tasks/socket">>, name => <<"erlang_gen_tcp">>, library => <<"Erlang/OTP">>,
                 unit => <<"ns">>, per => <<"request">>,
                 parameters => [{<<"requests">>, <<"10000">>, <<"requests">>, <<"requests over all connections, each with its answer">>},
                                {<<"connections">>, <<"20">>, <<"connections">>, <<"TCP connections over loopback, open all along">>}],
                 set_up => fun set_up/1}]).
