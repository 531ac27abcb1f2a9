-- Resolve, claim, root row, child rows, edges: one statement a round trip.  A
-- document that is new has no edges to compare with.
BEGIN;
@include client/resolve.part@
@include client/insert.part@
INSERT INTO @store@.ReferenceEdge (ParentDocumentId, ChildDocumentId, EdgeSourceId, IsIdentityComponent)
VALUES
@include client/edges.part@
END;
