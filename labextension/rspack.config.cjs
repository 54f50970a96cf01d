// Ids that do not depend on the folder that the checkout lies in: the build is committed.
module.exports = { optimization: { moduleIds: 'natural', chunkIds: 'natural' } };
