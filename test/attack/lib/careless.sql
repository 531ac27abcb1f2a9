-- Functions of the owner that depend on the search_path, for all places that can call one.
CREATE TABLE public.log (line text);
CREATE TABLE public.settings AS SELECT 'x' AS value;
CREATE FUNCTION public.careless() RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN (SELECT value FROM settings); END';
CREATE FUNCTION public.careless(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN (SELECT value FROM settings); END';
CREATE FUNCTION public.careless(bigint) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN EXISTS (SELECT value FROM settings WHERE value <> ''''); END';
