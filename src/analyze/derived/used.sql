-- How many solved kernels and failed attempts use a primitive.
CREATE TABLE used AS
WITH program AS (
    SELECT nr, code, sum(first) AS won, sum(NOT solved) AS lost FROM attempt GROUP BY nr, code)
SELECT nr, value AS word, sum(won) AS solved, sum(lost) AS failed
FROM program, json_each(words(nr, code)) GROUP BY nr, value HAVING sum(won + lost) > 0;
