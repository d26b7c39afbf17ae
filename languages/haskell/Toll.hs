-- | Lets a Haskell program take part in toll's runs: it speaks protocol 1 (docs/protocol.md).
module Toll
  ( Contender (..),
    Parameter (..),
    State (..),
    Arguments,
    Failure (..),
    Value (..),
    tollMain,
    useCapabilities,
  )
where

import Control.Concurrent (getNumCapabilities, setNumCapabilities)
import Control.Exception
import Control.Monad (foldM, forM_, unless, when)
import Data.List (isInfixOf, sort)
import Data.Version (showVersion)
import Data.Word (Word64)
import GHC.Clock (getMonotonicTimeNSec)
import GHC.Conc (getNumProcessors)
import Json
import Resources
import System.Environment (getArgs)
import System.Exit
import System.IO
import System.Info (compilerName, fullCompilerVersion)
import Text.Printf (printf)
import Text.Read (readMaybe)

-- | One input of a workload. A default of "cpus" is the number of CPUs.
data Parameter
  = Parameter {parameterName, standard, parameterUnit, meaning :: String}
  | -- | The default, which may be a word, is the only value here, and no argument; `only` says why.
    Fixed {parameterName, standard, parameterUnit, meaning, only :: String}

-- | One answer to a workload.
data Contender = Contender
  { workload, name, library, unit, per :: String,
    parameters :: [Parameter],
    -- | What is not timed. May throw a Failure.
    setUp :: Arguments -> IO State
  }

type Arguments = [(String, Integer)]

-- | A contender that is ready to run.
data State = State
  { -- | One timed iteration; returns its answer.
    run :: IO Word64,
    -- | The right answer of one iteration.
    expected :: Word64,
    -- | What `per` counts, for each iteration.
    units :: Word64,
    -- | What it stands on, as observed.
    footing :: [(String, Value)]
  }

-- | An answer of protocol 1 instead of a result: its kind and a sentence.
data Failure = Failure String String deriving (Show)

instance Exception Failure

-- | Sets as many capabilities as `threads` asks for, and says how many there are. Throws a Failure.
useCapabilities :: Arguments -> IO Int
useCapabilities arguments = do
  let threads = maybe 0 id (lookup "threads" arguments)
  when (threads < 1 || threads > 256) . throwIO $
    Failure "usage" ("threads must be 1 to 256, got " ++ show threads)
  setNumCapabilities (fromInteger threads)
  getNumCapabilities

-- | How long the runner may go on warming a launch: the heap has its size within this.
warmupLimitNs :: Integer
warmupLimitNs = 1000000000

mostIterations :: Rational
mostIterations = 2 ^ (53 :: Int)

-- | Runs one command line.
tollMain :: [Contender] -> IO ()
tollMain contenders = do
  hSetBuffering stdout LineBuffering
  hSetEncoding stdin utf8
  arguments <- getArgs
  case arguments of
    ["describe"] -> write (description contenders)
    "serve" : rest -> serve contenders rest `catch` answerFailure
    _ -> byHand contenders arguments `catch` \(Failure _ message) -> hPutStrLn stderr message >> exitWith (ExitFailure 2)

answerFailure :: SomeException -> IO ()
answerFailure failure = do
  let (kind, message) = case (fromException failure, fromException failure) of
        (Just (Failure known sentence), _) -> (known, sentence)
        (_, Just HeapOverflow) -> ("resource", "the heap is at its limit")
        _ -> ("internal", show failure)
  write (Object [("type", Text "error"), ("kind", Text kind), ("message", Text message)])
  exitWith (ExitFailure 1)

usage :: String -> IO a
usage = throwIO . Failure "usage"

compiler :: String
compiler = compilerName ++ " " ++ showVersion fullCompilerVersion

description :: [Contender] -> Value
description contenders =
  Object
    [ ("type", Text "description"),
      ("protocol", Number 1),
      ("language", Text "Haskell"),
      ("compiler", Text compiler),
      ("contenders", Array (map offered contenders))
    ]
  where
    offered c =
      Object
        [ ("workload", Text (workload c)),
          ("contender", Text (name c)),
          ("library", Text (library c)),
          ("library_version", Text compiler),
          ("kind", Text "batch"),
          ("unit", Text (unit c)),
          ("per", Text (per c)),
          ("parameters", Array (map parameter (parameters c)))
        ]
    parameter p =
      Object
        [ ("name", Text (parameterName p)),
          ("default", Text (standard p)),
          ("unit", Text (parameterUnit p)),
          ("meaning", Text (meaning p))
        ]

serve :: [Contender] -> [String] -> IO ()
serve contenders (wanted : named : rest) = do
  used <- resources
  started <- getMonotonicTimeNSec
  state <- made contenders wanted named rest
  ended <- getMonotonicTimeNSec
  clock <- clockAsFound
  write . Object $
    [ ("type", Text "ready"),
      ("protocol", Number 1),
      ("setup_ns", count (ended - started)),
      ("process_ns", count (cpuNs used)),
      ("clock", clock),
      ("footing", Object (footing state)),
      ("warmup_limit_ns", Number (fromInteger warmupLimitNs))
    ]
  answerAll state
serve _ _ = usage "serve needs WORKLOAD CONTENDER, then name=value ..."

answerAll :: State -> IO ()
answerAll state = do
  atEnd <- isEOF
  unless atEnd $ do
    line <- getLine
    (reply, more) <- answer state (decode line)
    write reply
    when more (answerAll state)

-- | The answer, and whether another request may follow.
answer :: State -> Maybe Value -> IO (Value, Bool)
answer state (Just (Object request)) = case lookup "type" request of
  Just (Text "batch") -> case lookup "iterations" request of
    Just (Number n) | n >= 1 && n <= mostIterations && n == fromInteger (truncate n) -> do
      (_, reply) <- batch state (truncate n)
      pure (reply, True)
    _ -> usage "batch needs iterations between 1 and 2^53"
  Just (Text "allocations") ->
    throwIO (Failure "unsupported" "Haskell allocates without malloc: nothing to count")
  Just (Text "samples") -> usage "this contender is timed in batches: ask for batch"
  Just (Text "stop") -> pure (Object [("type", Text "stopped")], False)
  other -> usage ("unknown request type " ++ maybe "none" encode other)
answer _ _ = usage "a request that is not one of protocol 1: not an object"

-- | Wall and CPU nanoseconds, and the whole answer.
batch :: State -> Word64 -> IO ((Word64, Word64), Value)
batch state iterations = do
  before <- resources
  started <- getMonotonicTimeNSec
  total <- repeated iterations 0
  ended <- getMonotonicTimeNSec
  after <- resources
  peak <- peakBytes
  let wanted = iterations * expected state
      less part = part after - part before
  when (total /= wanted) . throwIO . Failure "wrong_answer" $
    "the sum is " ++ show total ++ " instead of " ++ show wanted
  pure . (,) (ended - started, less cpuNs) . Object $
    [ ("type", Text "batch"),
      ("iterations", count iterations),
      ("units", count (iterations * units state)),
      ("wall_ns", count (ended - started)),
      ("cpu_ns", count (less cpuNs)),
      ("voluntary_switches", count (less voluntary)),
      ("involuntary_switches", count (less involuntary)),
      ("minor_faults", count (less minorFaults)),
      ("major_faults", count (less majorFaults)),
      ("peak_bytes", count peak),
      ("checksum", Text (show total)),
      ("counters", Object [("reason", Text "Haskell programs count no hardware events")])
    ]
  where
    repeated :: Word64 -> Word64 -> IO Word64
    repeated 0 total = pure total
    repeated left total = do
      one <- run state
      let more = total + one
      more `seq` repeated (left - 1) more

made :: [Contender] -> String -> String -> [String] -> IO State
made contenders wanted named rest =
  case [c | c <- contenders, workload c == wanted, name c == named] of
    c : _ -> parsed (parameters c) rest >>= setUp c
    [] -> usage ("no contender " ++ wanted ++ " " ++ named ++ " in this program")

parsed :: [Parameter] -> [String] -> IO Arguments
parsed known given = do
  texts <- foldM set [(parameterName p, standard p) | p <- known] given
  cpus <- getNumProcessors
  forM_ [(p, held) | p@Fixed {} <- known, Just held <- [lookup (parameterName p) texts]] $ \(p, held) ->
    when (held /= standard p) . throwIO . Failure "unsupported" $
      parameterName p ++ "=" ++ held ++ ": " ++ only p ++ "; ask for " ++ parameterName p ++ "=" ++ standard p
  mapM (number cpus) [text | text <- texts, fst text `notElem` [parameterName p | p@Fixed {} <- known]]
  where
    set texts text = case break (== '=') text of
      (key, '=' : held) | key `elem` map fst texts -> pure [(k, if k == key then held else v) | (k, v) <- texts]
      _ -> usage (text ++ " is not name=value with a parameter of this contender")
    number cpus (key, "cpus") = pure (key, toInteger cpus)
    number _ (key, text) = case readMaybe text of
      Just n | n >= 0 && all (`elem` ['0' .. '9']) text -> pure (key, n)
      _ -> usage (key ++ "=" ++ text ++ " is not a whole number")

-- | The median of what two reads in a row are apart, and the smallest step seen.
clockAsFound :: IO Value
clockAsFound = do
  apart <- sort <$> mapM (const twice) [1 .. 1001 :: Int]
  let step = case filter (> 0) apart of
        smallest : _ -> smallest
        [] -> 1
  pure . Object $
    [ ("source", Text "monotonic (GHC.Clock)"),
      ("resolution_ns", count step),
      ("overhead_ns", count (apart !! 500)),
      ("frequency_hz", Number 1000000000)
    ]
  where
    twice = do
      first <- getMonotonicTimeNSec
      second <- getMonotonicTimeNSec
      pure $! second - first

-- | By hand: every contender, or the one named, as a readable table.
byHand :: [Contender] -> [String] -> IO ()
byHand _ (help : _)
  | help `elem` ["--help", "-h", "help"] =
    putStrLn "PROGRAM [CONTENDER] [name=value ...] | describe | serve WORKLOAD CONTENDER [name=value ...]"
byHand contenders arguments = do
  let named = take 1 (filter (not . ("=" `isInfixOf`)) (take 1 arguments))
      chosen = [c | c <- contenders, null named || name c `elem` named]
  when (null chosen) (usage ("no contender " ++ concat named ++ " in this program"))
  forM_ chosen $ \c -> do
    state <- made contenders (workload c) (name c) (drop (length named) arguments)
    forM_ ["cold", "warm", "warm"] $ \what -> do
      ((wallNs, cpu), _) <- batch state 1
      let perUnit ns = fromIntegral ns / fromIntegral (units state) :: Double
      printf "%-24s %s %10.1f %s/%s  CPU time %10.1f  %s\n" (name c) (what :: String) (perUnit wallNs) (unit c)
        (per c) (perUnit cpu) (encode (Object (footing state)))

count :: Word64 -> Value
count = Number . fromIntegral

write :: Value -> IO ()
write message = putStrLn (encode message)
