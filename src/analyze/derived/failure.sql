-- Attempts that failed alike: the same verdict and, figures aside, the same diagnostic; with the
-- first of them, the most common first.
CREATE TABLE failure AS
WITH counted AS (
    SELECT nr, verdict, error, record, ord, attempt, count(*) AS attempts,
        count(DISTINCT ord) AS tasks, count(DISTINCT iif(won_at, ord, NULL)) AS solved,
        min(ord * 4294967296 + attempt) -- the other columns are of this row
    FROM failed JOIN tasks USING (nr, ord) WHERE verdict <> 'correct'
    GROUP BY nr, verdict, error_kind(error))
SELECT *, row_number() OVER (
    PARTITION BY nr ORDER BY attempts DESC, ord, attempt) AS place
FROM counted;
