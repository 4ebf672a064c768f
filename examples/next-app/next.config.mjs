export default {
  // The repository around this folder has a lock file, too. A copy of the folder does not need this.
  turbopack: { root: import.meta.dirname },
};
