/** The version of Jobferry with which this page was built. */
declare const __VERSION__: string;
