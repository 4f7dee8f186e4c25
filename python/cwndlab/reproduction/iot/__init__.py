"""The IoT paper: Verma, Kumar, "An IoT based Congestion Control Algorithm", Internet of Things 9, 2020."""

from cwndlab.reproduction.iot.adapts import ADAPTS
from cwndlab.reproduction.iot.mqtt import MQTT
from cwndlab.reproduction.iot.others import FIG5, FIG6, FIG7, FIG8, FIG9, FIG10
from cwndlab.reproduction.iot.tuning import FIG2, FIG3A, FIG3B, FIG3C

EXPERIMENTS = (FIG2, FIG3A, FIG3B, FIG3C, FIG5, FIG6, FIG7, FIG8, FIG9, FIG10, ADAPTS, MQTT)

__all__ = ["EXPERIMENTS"]
