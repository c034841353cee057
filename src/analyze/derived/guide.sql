-- What every prompt of a run began with: instructions, guide and card.
CREATE TABLE guide AS
SELECT nr, (SELECT text FROM (
    SELECT system_text(opening.nr, prompt) AS text FROM opening WHERE opening.nr = log.nr)
    WHERE text <> '' LIMIT 1) AS text
FROM log;
