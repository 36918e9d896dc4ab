// Loads the addon, and reports the smallest fix if it is not there.
'use strict';

// CUSTOMLABELS_LIBRARY=none runs the program without labels, on machines that have no addon.
const VARIABLE = 'CUSTOMLABELS_LIBRARY';

function load() {
  if (process.env[VARIABLE] === 'none') return { create: () => null, publish: () => undefined };
  try {
    return require('./customlabels.node');
  } catch (why) {
    const error = new Error(
      `labels cannot be published: ${why.message}\n` +
      'Install the package node-customlabels for this processor, or build it with the headers of node (libnode-dev). ' +
      `With ${VARIABLE}=none the program runs without labels.`,
      { cause: why });
    error.code = 'CUSTOMLABELS_NOT_LOADED';
    throw error;
  }
}

module.exports = load();
