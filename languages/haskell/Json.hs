-- | JSON of one line, which GHC's own libraries lack. Numbers are Rationals.
module Json (Value (..), decode, encode) where

import Control.Monad (replicateM)
import Data.Char (chr, isAsciiLower, isDigit, isHexDigit, ord)
import Data.List (intercalate)
import Data.Ratio (denominator, numerator)
import Numeric (readHex, showFFloat, showHex)
import Text.ParserCombinators.ReadP

data Value
  = Object [(String, Value)]
  | Array [Value]
  | Text String
  | Number Rational
  | Bool Bool
  | Null
  deriving (Eq, Show)

-- | The value that is the whole text; Nothing for anything else.
decode :: String -> Maybe Value
decode text = case readP_to_S (skip *> value 64 <* skip <* eof) text of
  [(found, "")] -> Just found
  _ -> Nothing

-- | At most `depth` levels of objects and arrays.
value :: Int -> ReadP Value
value depth = do
  next <- look
  case next of
    '{' : _ | depth > 0 -> Object <$> between (token '{') (char '}') (list field)
    '[' : _ | depth > 0 -> Array <$> between (token '[') (char ']') (list (value (depth - 1)))
    '"' : _ -> Text <$> string'
    c : _ | c == '-' || isDigit c -> number
    _ -> word
  where
    field = (,) <$> (string' <* skip <* token ':') <*> value (depth - 1)
    list item = (item <* skip) `sepBy` token ',' <* skip

word :: ReadP Value
word = munch1 isAsciiLower >>= \found -> case found of
  "true" -> pure (Bool True)
  "false" -> pure (Bool False)
  "null" -> pure Null
  _ -> pfail

string' :: ReadP String
string' = char '"' *> body
  where
    body = get >>= \c -> case c of
      '"' -> pure ""
      '\\' -> (:) <$> escaped <*> body
      _ | c >= ' ' -> (c :) <$> body
        | otherwise -> pfail

escaped :: ReadP Char
escaped = get >>= \c -> case c of
  'u' -> chr . fst . head . readHex <$> replicateM 4 (satisfy isHexDigit)
  _ -> maybe pfail pure (lookup c (zip "\"\\/bfnrt" "\"\\/\b\f\n\r\t"))

number :: ReadP Value
number = do
  sign <- option 1 (-1 <$ char '-')
  whole <- munch1 isDigit
  fraction <- option "" (char '.' *> munch1 isDigit)
  power <- option 0 (satisfy (`elem` "eE") *> exponent')
  rest <- look
  case whole of
    '0' : _ : _ -> pfail
    _ | abs power > 400 || continues rest -> pfail
      | otherwise -> pure (Number (sign * fromInteger (read (whole ++ fraction)) * 10 ^^ (power - length fraction)))
  where
    continues rest = any (\c -> isDigit c || c `elem` ".eE") (take 1 rest)

exponent' :: ReadP Int
exponent' = do
  sign <- option id ((id <$ char '+') <++ (negate <$ char '-'))
  sign . read . take 6 <$> munch1 isDigit

token :: Char -> ReadP ()
token c = char c *> skip

skip :: ReadP ()
skip = () <$ munch (`elem` " \t\r\n")

-- | One line of ASCII.
encode :: Value -> String
encode (Object fields) = "{" ++ intercalate ", " [encode (Text name) ++ ": " ++ encode held | (name, held) <- fields] ++ "}"
encode (Array values) = "[" ++ intercalate ", " (map encode values) ++ "]"
encode (Number n)
  | denominator n == 1 = show (numerator n)
  | otherwise = showFFloat (Just 3) (fromRational n :: Double) ""
encode (Bool b) = if b then "true" else "false"
encode Null = "null"
encode (Text text) = "\"" ++ concatMap quoted text ++ "\""
  where
    quoted c
      | c `elem` "\"\\" = ['\\', c]
      | c >= ' ' && c < '\DEL' = [c]
      | ord c > 0xFFFF = quoted '\xFFFD'
      | otherwise = let hex = showHex (ord c) "" in "\\u" ++ replicate (4 - length hex) '0' ++ hex
