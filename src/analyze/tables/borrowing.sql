-- The command makes it; see borrow.h.
SELECT 'it asks a model: give --table borrowing, --model and a budget' AS missing;
