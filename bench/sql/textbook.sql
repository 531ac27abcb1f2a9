-- The keys that a textbook would add: every bookkeeping row refers to its
-- document, and an edge to both of its documents and its source.

ALTER TABLE @store@.ReferentialIdentity ADD FOREIGN KEY (DocumentId) REFERENCES @store@.Document ON DELETE CASCADE;
ALTER TABLE @store@.IdentityLock ADD FOREIGN KEY (DocumentId) REFERENCES @store@.Document ON DELETE CASCADE;
ALTER TABLE @store@.StudentSchoolAssociation ADD FOREIGN KEY (DocumentId) REFERENCES @store@.Document ON DELETE CASCADE;
ALTER TABLE @store@.ReferenceEdge
	ADD FOREIGN KEY (ParentDocumentId) REFERENCES @store@.Document ON DELETE CASCADE,
	ADD FOREIGN KEY (ChildDocumentId) REFERENCES @store@.Document,
	ADD FOREIGN KEY (EdgeSourceId) REFERENCES @store@.EdgeSource;
