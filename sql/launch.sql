-- The scheduler: starts the next queued run of a lane, or says why not, again
-- and again until you interrupt it. Works on the lab and wherever it is attached.
--
--   psql -f sql/launch.sql                     every 2 seconds, lane default
--   psql -v every=5 -v lane=big -f sql/launch.sql
--   psql -v once=1 -f sql/launch.sql           one time

\if :{?every}
\else
  \set every 2
\endif
\if :{?lane}
\else
  \set lane default
\endif
\if :{?once}
  INSERT INTO lab.launches (lane) VALUES (:'lane') RETURNING run, note;
\else
  INSERT INTO lab.launches (lane) VALUES (:'lane') RETURNING run, note \watch :every
\endif
