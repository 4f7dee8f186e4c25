/** Scripts of the folder, written by build.mjs. */
declare const CWNDLAB_ENGINE: string;
declare const CWNDLAB_DATA: string;
/** The text of the worker's script, put in by build.mjs. */
declare const CWNDLAB_WORKER: string;
