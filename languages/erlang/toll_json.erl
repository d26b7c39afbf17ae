%% JSON of one line: the standard library has it from OTP 27 on only. Strings are UTF-8 binaries, objects maps.
-module(toll_json).
-export([decode/1, encode/1]).

%% The value that is the whole binary; fails with {json, What} for anything else.
decode(Text) ->
    {Value, Rest} = value(space(Text)),
    case space(Rest) of
        <<>> -> Value;
        _ -> wrong(Rest)
    end.

value(<<${, Rest/binary>>) -> object(space(Rest), #{});
value(<<$[, Rest/binary>>) -> array(space(Rest), []);
value(<<$", Rest/binary>>) -> string(Rest, <<>>);
value(<<"true", Rest/binary>>) -> {true, Rest};
value(<<"false", Rest/binary>>) -> {false, Rest};
value(<<"null", Rest/binary>>) -> {null, Rest};
value(Text) -> number(Text).

object(<<$}, Rest/binary>>, Fields) when Fields =:= #{} -> {Fields, Rest};
object(<<$", Text/binary>>, Fields) ->
    {Name, AfterName} = string(Text, <<>>),
    {Value, Rest} = value(space(expect($:, space(AfterName)))),
    case space(Rest) of
        <<$,, More/binary>> ->
            object(name(space(More)), Fields#{Name => Value});
        <<$}, More/binary>> -> {Fields#{Name => Value}, More};
        Other -> wrong(Other)
    end;
object(Text, _) -> wrong(Text).

name(<<$", _/binary>> = Text) -> Text;
name(Text) -> wrong(Text).

array(<<$], Rest/binary>>, []) -> {[], Rest};
array(Text, Values) ->
    {Value, Rest} = value(Text),
    case space(Rest) of
        <<$,, More/binary>> -> array(space(More), [Value | Values]);
        <<$], More/binary>> -> {lists:reverse([Value | Values]), More};
        Other -> wrong(Other)
    end.

string(<<$", Rest/binary>>, Made) -> {Made, Rest};
string(<<$\\, $u, Hex:4/binary, Rest/binary>> = Text, Made) ->
    try binary_to_integer(Hex, 16) of
        %% Half of a pair of surrogates: no request holds one, and it becomes the replacement character.
        Half when Half >= 16#D800, Half =< 16#DFFF -> string(Rest, <<Made/binary, 16#FFFD/utf8>>);
        Point -> string(Rest, <<Made/binary, Point/utf8>>)
    catch
        error:badarg -> wrong(Text)
    end;
string(<<$\\, Escape, Rest/binary>> = Text, Made) ->
    case lists:keyfind(Escape, 1, escapes()) of
        {_, Byte} -> string(Rest, <<Made/binary, Byte>>);
        false -> wrong(Text)
    end;
string(<<Byte, Rest/binary>>, Made) when Byte >= $\s -> string(Rest, <<Made/binary, Byte>>);
string(Text, _) -> wrong(Text).

escapes() ->
    [{$", $"}, {$\\, $\\}, {$/, $/}, {$b, $\b}, {$f, $\f}, {$n, $\n}, {$r, $\r}, {$t, $\t}].

number(Text) ->
    Grammar = "^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?",
    case re:run(Text, Grammar, [{capture, all, binary}]) of
        {match, [Digits, _]} -> {binary_to_integer(Digits), rest(Text, Digits)};
        {match, [Digits, Whole, <<>>, Power]} ->
            Sign = case Digits of <<$-, _/binary>> -> <<"-">>; _ -> <<>> end,
            {float_of(<<Sign/binary, Whole/binary, ".0", Power/binary>>, Text), rest(Text, Digits)};
        {match, [Digits | _]} -> {float_of(Digits, Text), rest(Text, Digits)};
        nomatch -> wrong(Text)
    end.

float_of(Digits, Text) ->
    try binary_to_float(Digits) catch error:badarg -> wrong(Text) end.

rest(Text, Taken) -> binary:part(Text, byte_size(Taken), byte_size(Text) - byte_size(Taken)).

expect(Byte, <<Byte, Rest/binary>>) -> Rest;
expect(_, Text) -> wrong(Text).

space(<<Byte, Rest/binary>>) when Byte =:= $\s; Byte =:= $\t; Byte =:= $\n; Byte =:= $\r -> space(Rest);
space(Text) -> Text.

wrong(Text) ->
    Start = string:trim(binary:part(Text, 0, min(20, byte_size(Text)))),
    error({json, case Start of <<>> -> <<"it ends too early">>; _ -> <<"at ", Start/binary>> end}).

%% Maps, lists, binaries (strings), integers, floats and booleans as one line of ASCII.
encode(Fields) when is_map(Fields) ->
    Pairs = [[encode(Name), ": ", encode(Value)] || {Name, Value} <- maps:to_list(Fields)],
    ["{", lists:join(", ", Pairs), "}"];
encode(Values) when is_list(Values) -> ["[", lists:join(", ", [encode(Value) || Value <- Values]), "]"];
encode(Number) when is_integer(Number) -> integer_to_binary(Number);
encode(Number) when is_float(Number) -> float_to_binary(Number, [{decimals, 3}]);
encode(Word) when Word =:= true; Word =:= false -> atom_to_binary(Word);
encode(Name) when is_atom(Name) -> encode(atom_to_binary(Name));
encode(Text) when is_binary(Text) ->
    Points = case unicode:characters_to_list(Text) of
        List when is_list(List) -> List;
        _ -> binary_to_list(Text)
    end,
    [$", [quoted(Point) || Point <- Points], $"].

quoted($") -> "\\\"";
quoted($\\) -> "\\\\";
quoted(Point) when Point >= $\s, Point =< $~ -> Point;
quoted(Point) when Point > 16#FFFF -> quoted(16#FFFD);
quoted(Point) -> io_lib:format("\\u~4.16.0b", [Point]).
