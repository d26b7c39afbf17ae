{-# LANGUAGE BangPatterns #-}

-- tasks/fib in Haskell: a spark for each forked call. A thread that has nothing to do takes it; else its
-- parent makes the call when it needs the result.
module Main (main) where

import Control.Exception (evaluate, throwIO)
import Control.Monad (when)
import Data.IORef
import Data.Word (Word64)
import GHC.Conc (par, pseq)
import Toll

fib :: Word64 -> Word64
fib n
  | n < 2 = n
  | otherwise = first `par` (second `pseq` (first + second))
  where
    first = fib (n - 1)
    second = fib (n - 2)

-- | The n-th Fibonacci number, by addition.
number :: Word64 -> Word64
number = go 1 0
  where
    go :: Word64 -> Word64 -> Word64 -> Word64
    go _ !found 0 = found
    go before found left = go found (before + found) (left - 1)

made :: Arguments -> IO State
made arguments = do
  let given = maybe 0 id (lookup "n" arguments)
      n = fromInteger given
  when (given < 2 || given > 60) . throwIO $ Failure "usage" ("n must be 2 to 60, got " ++ show given)
  capabilities <- useCapabilities arguments
  asked <- newIORef n -- read anew in each iteration, else the number of the first one would be kept
  pure
    State
      { run = readIORef asked >>= evaluate . fib,
        expected = number n,
        units = number (n + 1) - 1,
        footing = [("threads", Number (fromIntegral capabilities))]
      }

main :: IO ()
main =
  tollMain
    [ Contender
        { workload = "tasks/fib",
          name = "haskell_sparks",
          library = "GHC base",
          unit = "ns",
          per = "task",
          parameters =
            [ Parameter "n" "27" "" "which Fibonacci number; each call of 2 or more forks the one of n - 1 and makes the one of n - 2 itself",
              Parameter "threads" "cpus" "threads" "operating-system threads that run the tasks"
            ],
          setUp = made
        }
    ]
