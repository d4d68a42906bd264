-- Takes the example's servers down and forgets its runs.
DELETE FROM lab.runs WHERE run IN ('pg16-8-clients', 'pg17-8-clients', 'pg18-8-clients');
DELETE FROM lab.clusters WHERE name IN ('pg16', 'pg17', 'pg18');
