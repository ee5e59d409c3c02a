-- A wait counts on the clock of leases, like a lease: a wall clock that is set moves it no more. The waits a store on
-- SQLite has had until now count on none, and so are over; PostgreSQL's counted on its clock before.
ALTER TABLE work ADD COLUMN not_before_clock text NOT NULL DEFAULT $first_clock;
