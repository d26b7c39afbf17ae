%% tasks/nqueens in Erlang: a process for each queen of a column but the last, results as messages.
-module(nqueens).
-export([main/0]).

-define(SMALLEST, 4).
-define(LARGEST, 14).
%% Solutions on boards of ?SMALLEST and more.
-define(SOLUTIONS, {2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596}).

%% Board: the row of the queen in each column so far, the last column first.
from(_, N, N) -> 1;
from(Board, N, Placed) -> placed(free(Board, N), Board, N, Placed + 1).

placed([], _, _, _) -> 0;
placed(Rows, Board, N, Placed) ->
    Tag = make_ref(),  % the last queen is placed in this process, and has children of its own
    {Last, Forked} = forked(Rows, Board, N, Placed, self(), Tag, 0),
    sum(Tag, Forked, from([Last | Board], N, Placed)).

forked([Last], _, _, _, _, _, Forked) -> {Last, Forked};
forked([Row | Rows], Board, N, Placed, Self, Tag, Forked) ->
    spawn(fun() -> Self ! {Tag, from([Row | Board], N, Placed)} end),
    forked(Rows, Board, N, Placed, Self, Tag, Forked + 1).

sum(_, 0, Total) -> Total;
sum(Tag, Left, Total) -> receive {Tag, Found} -> sum(Tag, Left - 1, Total + Found) end.

%% Rows of the next column that no queen threatens.
free(Board, N) -> [Row || Row <- lists:seq(0, N - 1), is_free(Row, 1, Board)].

is_free(_, _, []) -> true;
is_free(Row, Apart, [Queen | Board]) ->
    Queen =/= Row andalso Queen =/= Row - Apart andalso Queen =/= Row + Apart andalso is_free(Row, Apart + 1, Board).

%% How many queens all tries place together.
queens_placed(_, N, N) -> 0;
queens_placed(Board, N, Placed) ->
    Rows = free(Board, N),
    lists:foldl(fun(Row, Sum) -> Sum + queens_placed([Row | Board], N, Placed + 1) end, length(Rows), Rows).

set_up(#{<<"n">> := N, <<"threads">> := Threads}) ->
    N >= ?SMALLEST andalso N =< ?LARGEST orelse
        toll:fail(usage, io_lib:format("n must be ~p to ~p, got ~p", [?SMALLEST, ?LARGEST, N])),
    Schedulers = toll:use_schedulers(Threads),
    Queens = queens_placed([], N, 0),
    Limit = toll:require_processes(Queens),
    #{run => fun() -> from([], N, 0) end,
      expected => element(N - ?SMALLEST + 1, ?SOLUTIONS),
      units => Queens,
      footing => #{threads => Schedulers, process_limit => Limit}}.

main() ->
    toll:main([#{workload => <<"tasks/nqueens">>, name => <<"erlang_processes">>, library => <<"Erlang/OTP">>,
                 unit => <<"ns">>, per => <<"task">>,
                 parameters => [{<<"n">>, <<"11">>, <<"queens">>, <<"queens on a board of n by n squares, 4 to 14">>},
                                {<<"threads">>, <<"cpus">>, <<"threads">>, <<"operating-system threads that run the tasks">>}],
                 set_up => fun set_up/1}]).
