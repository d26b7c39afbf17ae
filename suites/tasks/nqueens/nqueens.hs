{-# LANGUAGE BangPatterns #-}

-- tasks/nqueens in Haskell: a spark for each queen of a column but the last. A thread that has nothing to do
-- takes it; else its parent places the queen when it needs the result.
module Main (main) where

import Control.Exception (evaluate, throwIO)
import Control.Monad (when)
import Data.IORef
import Data.Word (Word64)
import GHC.Conc (par, pseq)
import Toll

-- | The row of the queen in each column so far, the last column first.
type Board = [Int]

from :: Int -> Int -> Board -> Word64
from !n !placed board
  | placed == n = 1
  | otherwise = total [from n (placed + 1) (row : board) | row <- free n board]

-- | All but the last are sparks.
total :: [Word64] -> Word64
total [] = 0
total [found] = found
total (found : rest) = found `par` (others `pseq` (found + others))
  where
    others = total rest

-- | Rows of the next column that no queen threatens.
free :: Int -> Board -> [Int]
free n board = [row | row <- [0 .. n - 1], isFree row 1 board]

isFree :: Int -> Int -> Board -> Bool
isFree _ _ [] = True
isFree !row !apart (queen : board) =
  queen /= row && queen /= row - apart && queen /= row + apart && isFree row (apart + 1) board

-- | How many queens all tries place together.
queensPlaced :: Int -> Int -> Board -> Word64
queensPlaced n placed board
  | placed == n = 0
  | otherwise = fromIntegral (length rows) + sum [queensPlaced n (placed + 1) (row : board) | row <- rows]
  where
    rows = free n board

smallest, largest :: Integer
smallest = 4
largest = 14

-- | On boards of `smallest` and more.
solutions :: [Word64]
solutions = [2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596]

made :: Arguments -> IO State
made arguments = do
  let n = maybe 0 id (lookup "n" arguments)
  when (n < smallest || n > largest) . throwIO $
    Failure "usage" ("n must be " ++ show smallest ++ " to " ++ show largest ++ ", got " ++ show n)
  capabilities <- useCapabilities arguments
  placed <- evaluate (queensPlaced (fromInteger n) 0 [])
  asked <- newIORef (fromInteger n) -- read anew in each iteration, else the first one's result would be kept
  pure
    State
      { run = readIORef asked >>= \size -> evaluate (from size 0 []),
        expected = solutions !! fromInteger (n - smallest),
        units = placed,
        footing = [("threads", Number (fromIntegral capabilities))]
      }

main :: IO ()
main =
  tollMain
    [ Contender
        { workload = "tasks/nqueens",
          name = "haskell_sparks",
          library = "GHC base",
          unit = "ns",
          per = "task",
          parameters =
            [ Parameter "n" "11" "queens" "queens on a board of n by n squares, 4 to 14",
              Parameter "threads" "cpus" "threads" "operating-system threads that run the tasks"
            ],
          setUp = made
        }
    ]
