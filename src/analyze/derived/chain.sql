-- The operators of each task in the order of computing, each with the one that follows.
CREATE TABLE chain AS
SELECT nr, ord, key AS place, value AS op,
    lead(value) OVER (PARTITION BY nr, ord ORDER BY key) AS next
FROM task JOIN source USING (nr, ord), json_each(operators(nr, source));
CREATE INDEX chain_ord ON chain (nr, ord);
